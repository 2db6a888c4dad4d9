"""No request makes the site fail.

Every route, every method, hostile values in path, query and body; generated from the routes.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from django.urls import URLPattern, get_resolver
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from labsite.bodies import LARGEST_BODY_BYTES
from tests.visualizer.asgi_client import request
from tests.visualizer.hostile import texts, values
from visualizer.live.json_reader import DEEPEST_JSON, LONGEST_NUMBER, read_json
from visualizer.models import Lab

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO")

HOSTILE = settings(
    max_examples=3,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

BODIES = [
    (JSON, "[" * 100_000),
    (JSON, '{"a":' * 5_000),
    (JSON, "9" * 4_301),
    (JSON, '{"seed": ' + "9" * 4_301 + "}"),
    (JSON, '{"token": "\\ud800"}'),
    (JSON, '{"token": "\\u0000"}'),
    (JSON, '{"labs": [{"id": "\\ud800", "token": "a"}]}'),
    (JSON, '{"labs": [{"id": "\\u0000"}]}'),
    (JSON, '{"yaml": "format: 1\\nseed: !!int 0xZZ\\n"}'),
    (JSON, '{"yaml": "' + "[" * 1_800 + '"}'),
    (JSON, '{"yaml": "format: 1\\nseed: ' + "9" * 4_301 + '"}'),
    (JSON, '{"scenario": "two-regions", "set": [["a[' + "9" * 4_301 + ']", "1"]]}'),
    (JSON, "1e400"),
    (JSON, "NaN"),
    (JSON, "\xff"),
    (JSON, ""),
    (JSON, "null"),
    (FORM, "seed=" + "9" * 4_301),
    (FORM, "seed=9&scenario=%00&yaml=%ED%A0%80"),
    (FORM, "at_us=" + "9" * 4_301),
    (FORM, "&".join("a=b" for _ in range(2_000))),
    (FORM + "; charset=nothing", "a=b"),
    ("multipart/form-data", "x"),
    ("multipart/form-data; boundary=x", "--x\r\nbroken"),
    ("text/plain", "\0"),
]


def routes(patterns: Any = None, before: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Every route with its converters."""
    found = []
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            found.append((route, pattern.pattern.converters))
        else:
            found += routes(pattern.url_patterns, route)
    return found


def filled(route: str, parts: dict[str, str]) -> str:
    for name, text in parts.items():
        start = route.index("<", 0)
        end = route.index(">", start)
        assert name in route[start:end]
        route = route[:start] + quote(text, safe="", errors="surrogatepass") + route[end + 1 :]
    return f"/{route}"


@pytest.fixture
def lab_id(hub, made) -> str:
    return made.lab.pk


def test_routes_of_every_application_are_included():
    paths = [route for route, _ in routes()]
    assert (
        len(paths) > 40
        and any("reports" in path for path in paths)
        and any("compare" in path for path in paths)
    )


@HOSTILE
@given(data=st.data())
async def test_no_route_fails(lab_id, data):
    part = st.sampled_from(
        [
            lab_id,
            lab_id,
            "a",
            "orders",
            "0",
            "1",
            "9" * 16,
            "9" * 17,
            "9" * 4_301,
            "x" * 5_000,
            "\0",
            "\ud800",
            "=1",
            "..",
            "duplicates",
        ]
    )
    for route, converters in routes():
        parts = {name: data.draw(part) for name in converters}
        if "lab_id" in parts and data.draw(st.booleans()):
            parts["lab_id"] = lab_id
        path = filled(route, parts)
        names = data.draw(
            st.lists(
                st.sampled_from(
                    [
                        "first",
                        "last",
                        "limit",
                        "seq",
                        "number",
                        "from_us",
                        "to_us",
                        "seed",
                        "group",
                        "client",
                        "of",
                        "at_us",
                        "cause",
                        "names",
                        "regions",
                        "consumers",
                        "x",
                    ]
                ),
                max_size=4,
            )
        )
        query = "&".join(
            f"{name}={quote(data.draw(texts), safe='', errors='surrogatepass')}" for name in names
        )
        kind, body = data.draw(st.sampled_from(BODIES) | values.map(lambda value: (JSON, json.dumps(value))))
        origin = data.draw(
            st.sampled_from(["http://testserver", "http://[", "null", "=", "http://elsewhere"])
        )
        status = {}
        for method in METHODS:
            answer = await request(
                method,
                path,
                query,
                [body.encode("utf-8", "surrogatepass")] if method not in ("GET", "HEAD") else [b""],
                content_type=kind,
                origin=origin,
            )
            assert answer.status < 500, (method, path[:200], query[:200], kind, body[:200], answer.body[:500])
            status[method] = answer.status
        assert status["HEAD"] == status["GET"], path[:200]
    assert (await Lab.objects.aget(pk=lab_id)).failure is None


@pytest.mark.parametrize(("kind", "body"), BODIES)
@pytest.mark.parametrize(
    "path",
    [
        "/labs/",
        "/labs/mine/",
        "/my-set-up/check/",
        "/editor/check/",
        "/editor/outcome/",
        "/labs/{lab}/copy/",
        "/labs/{lab}/rename/",
        "/labs/{lab}/delete/",
        "/labs/{lab}/variants/",
        "/labs/{lab}/reports/",
        "/labs/{lab}/replay/?at_us=" + "9" * 4_301,
    ],
)
async def test_no_body_makes_a_post_fail(lab_id, path, kind, body):
    answer = await request(
        "POST", *path.format(lab=lab_id).split("?"), chunks=[body.encode("latin1")], content_type=kind
    )
    assert answer.status < 500, answer.body[:500]


@pytest.mark.parametrize(
    "body",
    [
        '{"title": "\\ud800", "token": "%s"}',
        '{"title": "a\\u0000b", "token": "%s"}',
        '{"title": "a", "token": "%s\\ud800"}',
    ],
)
async def test_a_title_that_cannot_be_stored_is_refused(made, body):
    answer = await request(
        "POST", f"/labs/{made.lab.pk}/rename/", chunks=[(body % made.token).encode()], content_type=JSON
    )
    assert answer.status == 400 and "surrogate" in answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/labs/",
        "/labs/{lab}/",
        "/labs/{lab}/replay/",
        "/labs/{lab}/rows.json",
        "/my-set-up/",
        "/editor/",
        "/editor/schema.json",
        "/compare/two-regions/",
    ],
)
async def test_head_answers_like_get_and_creates_nothing(lab_id, path):
    before = await Lab.objects.acount()
    got, head = [await request(method, path.format(lab=lab_id)) for method in ("GET", "HEAD")]
    assert (got.status, head.status) == (200, 200)
    assert head.headers["content-type"] == got.headers["content-type"]
    assert await Lab.objects.acount() == before


async def test_a_body_of_exactly_the_limit_is_accepted(lab_id):
    body = json.dumps({"labs": []}).encode()
    answer = await request(
        "POST", "/labs/mine/", chunks=[body + b" " * (LARGEST_BODY_BYTES - len(body))], content_type=JSON
    )
    assert answer.status == 200


async def test_a_body_with_a_content_length_over_the_limit_is_refused_unread(lab_id):
    for length in (str(LARGEST_BODY_BYTES + 1), "9" * 4_301):
        answer = await request(
            "POST", "/labs/mine/", chunks=[b"{}"] * 3, content_type=JSON, content_length=length
        )
        assert (answer.status, answer.taken) == (413, 0) and answer.json()["code"] == "too-large"
        assert answer.headers["connection"] == "close"


async def test_a_chunked_body_is_refused_once_it_exceeds_the_limit(lab_id, monkeypatch):
    """Before Django writes any of it to a file."""
    monkeypatch.setattr(
        "django.core.handlers.asgi.tempfile.SpooledTemporaryFile",
        lambda **_: pytest.fail("the body is written to a file"),
    )
    piece = b"x" * 65_536
    answer = await request(
        "POST", "/labs/mine/", chunks=[piece] * 1_000, content_type=JSON, transfer_encoding="chunked"
    )
    assert answer.status == 413 and answer.taken == LARGEST_BODY_BYTES // len(piece) + 1


def test_json_input_has_bounds():
    assert read_json("[" * DEEPEST_JSON + "]" * DEEPEST_JSON) is not None
    assert (
        read_json("9" * LONGEST_NUMBER) == int("9" * LONGEST_NUMBER)
        and read_json('"\\ud83d\\ude00"') == "\U0001f600"
    )
    for text in (
        "[" * (DEEPEST_JSON + 1) + "]" * (DEEPEST_JSON + 1),
        "9" * (LONGEST_NUMBER + 1),
        "1e400",
        "-Infinity",
        '"\\ud800"',
        '{"\\u0000": 1}',
        b"\xff\xfe\xfd",
        "",
        "\0",
    ):
        with pytest.raises(ValueError):
            read_json(text)
