"""The site behind its real server.

Limits of requests and messages, closes after internal errors, and other labs continuing.
"""

from __future__ import annotations

import ast
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.frames import Close

from script.support.serve import HEAD_BYTES, MESSAGE_BYTES
from tests.visualizer.pages import PATIENCE_S
from tests.visualizer.site import Site, SitePage
from visualizer.live import sockets, viewers

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(
        tmp_path_factory.mktemp("site"), application="tests.visualizer.failing_application:application"
    ).wait()
    yield site
    site.stop()


def closed_with(page: SitePage) -> tuple[int, str]:
    """The code and reason with which the server closes this page; frames before it are skipped."""
    try:
        while True:
            page.receive()
    except AssertionError:
        return page.close_code, page.close_words


def test_every_close_code_of_the_application_can_be_sent_by_the_server_library():
    """Autobahn, which serves under Daphne, accepts 1000 and 3000 to 4999 only; so does a browser's own
    `close`.
    """
    codes = {
        value for name, value in {**vars(sockets), **vars(viewers)}.items() if name.startswith("CLOSED_")
    }
    assert codes == {viewers.CLOSED_NORMALLY, viewers.CLOSED_SILENT, sockets.CLOSED_BY_ERROR}
    for code in codes:
        Close(code, "").check()
        assert code == 1000 or 3000 <= code < 5000
    for path in (ROOT / "visualizer").rglob("*.py"):
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            if getattr(call.func, "attr", "") == "close":
                words = [*call.args, *(word.value for word in call.keywords)]
                assert not any(
                    isinstance(word, ast.Constant) and isinstance(word.value, int) for word in words
                ), f"{path}: a close code without a name"


@pytest.mark.parametrize(
    ("breaks", "log"), [("pause", "put in by a test: handler"), ("step", "Internal error in a page's socket")]
)
def test_an_internal_error_closes_the_socket_and_leaves_the_lab_running(site, breaks, log):
    lab = site.open_lab(scenario="two-regions")
    beside, broken = site.page(lab), site.page(lab)
    beside.frame()
    broken.frame()
    broken.send({"type": breaks})
    assert closed_with(broken) == (sockets.CLOSED_BY_ERROR, "")
    assert log in Path(site.log.name).read_text()
    beside.send({"type": "seek", "at_us": 1_000_000})
    beside.frame(lambda frame: frame["at_us"] == 1_000_000)
    again = site.page(lab)
    again.frame()
    for page in (beside, broken, again):
        page.close()


def test_a_message_beyond_the_limit_closes_the_socket(site):
    lab = site.open_lab(scenario="two-regions")
    page = site.page(lab)
    page.frame()
    page.send({"type": "seek", "at_us": "1" * 70_000})
    assert page.until("error")["code"] == "too-long", "below the server's limit the application answers"
    page.send_head_of(MESSAGE_BYTES + 1)
    assert closed_with(page)[0] == 1009
    page.close()


def test_a_request_with_endless_headers_is_refused(site):
    with socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE_S) as line:
        line.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nx: " + b"a" * (HEAD_BYTES + 1))
        assert line.recv(12) == b"HTTP/1.1 400"


def test_the_server_header_is_omitted_and_proxy_headers_change_nothing(site):
    """Django's settings decide the client address: a server that trusted X-Forwarded-For would let any
    client choose an address.
    """
    with socket.create_connection(("127.0.0.1", site.port), timeout=PATIENCE_S) as line:
        line.sendall(
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n\r\n"
        )
        head = line.makefile("rb").read().split(b"\r\n\r\n")[0].lower()
    assert b" 200 " in head.splitlines()[0]
    assert not any(name.startswith(b"server:") for name in head.splitlines())
