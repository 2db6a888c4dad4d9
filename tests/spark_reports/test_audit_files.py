"""Logs as tools write and wrap them: times, JSON inside a field, arrays, lines before the content, encodings."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simulator import ScenarioError
from spark_reports.audit import documents
from spark_reports.audit.documents import CUT_OFF, decoded, values
from spark_reports.audit.errors import AuditError, input_problem
from spark_reports.audit.formats.statistics import figures_of, incomplete, positions, topics_of
from spark_reports.audit.inputs import bare_line
from spark_reports.audit.job import Audit
from spark_reports.audit.mapping import Mapping, format_problem, mapping_of
from spark_reports.audit.rows import timed

AT_US = 1_746_100_539_142_000
"""2025-05-01T11:55:39.142Z."""
NAMES = ("ts", "kind", "message_id", "cluster", "subscription", "topic")
HEARD = [("west", "deliver", n, n) for n in range(4)] + [("west", "ack", n, 10 + n) for n in range(3)]
HEARD += [("east", "deliver", n, 20 + n) for n in range(2, 6)]
"""Cluster, kind, message and second: east receives 2 and 3 again, 2 after its acknowledgement."""
ROWS = [
    dict(zip(NAMES, (AT_US + second * 1_000_000, kind, f"o-{n}", cluster, "billing", "orders"), strict=True))
    for cluster, kind, n, second in HEARD
]
LINES = [json.dumps(row) for row in ROWS]
INSIDE = {name: f"log.{name}" for name in NAMES}


def audited(spark: Any, folder: Path, files: dict[str, bytes | str], **mapping: Any) -> dict[str, Any]:
    (folder / "logs").mkdir(parents=True)
    for name, content in files.items():
        (folder / "logs" / name).write_bytes(content.encode() if isinstance(content, str) else content)
    made = mapping_of(json.dumps({"format": 1, **mapping}), "m.yaml") if mapping else Mapping()
    return Audit(spark, [str(folder / "logs")], folder / "out", made).make()


def figures(report: dict[str, Any]) -> tuple[int, int, int]:
    """Messages in several clusters, duplicates, and unreadable rows."""
    groups = report["groups"]
    return (
        sum(one["in_several_clusters"] for one in groups),
        sum(one["duplicates"] or 0 for one in groups),
        report["rows"]["unreadable"],
    )


# -- times


@pytest.mark.parametrize(
    ("time_format", "texts"),
    [
        (
            "",
            [
                "2025-05-01T11:55:39,142+0000",
                "2025-05-01T13:55:39,142+0200",
                "2025-05-01T06:25:39.142-05:30",
                "2025-05-01 11:55:39,142",
                "2025-05-01T11:55:39,142Z",
                "2025-05-01T12:55:39,142000000+01",
                "2025/05/01 11:55:39.142",
                "2025-05-01 11:55:39.142 +0000 UTC",
                "20250501T115539,142Z",
                "1746100539.142",
                "1746100539,142",
                "1746100539142",
                "1746100539142000",
                "1746100539142000999",
                "1.746100539142E9",
            ],
        ),
        ("dd/MMM/yyyy:HH:mm:ss,SSS Z", ["01/May/2025:11:55:39,142 +0000", "01/May/2025:04:55:39,142 -0700"]),
        ("MMM d, yyyy '@' HH:mm:ss.SSS", ["May 1, 2025 @ 11:55:39.142"]),
        ("yyyy-MM-dd hh:mm:ss.SSS a", ["2025-05-01 11:55:39.142 AM"]),
    ],
)
def test_times_are_read_as_loggers_write_them(spark: Any, time_format: str, texts: list[str]) -> None:
    frame = spark.createDataFrame(pa.table({"ts": texts}))
    rows = timed(frame, Mapping(time_format=time_format)).collect()
    assert {row["ts"]: row["at_us"] for row in rows} == dict.fromkeys(texts, AT_US)


def test_other_texts_are_no_times(spark: Any) -> None:
    texts = ["yesterday", "2025-05-01T11:55", "39,142", "2025-13-01T11:55:39,142Z", "1,746,100,539", "", None]
    rows = timed(spark.createDataFrame(pa.table({"ts": texts})), Mapping()).collect()
    known = {row["ts"]: row["at_us"] for row in rows}
    assert [text for text, at_us in known.items() if at_us == AT_US] == []
    assert known["2025-13-01T11:55:39,142Z"] is None and known["1,746,100,539"] is known["39,142"] is None
    named = Mapping(time_format="dd.MM.yyyy HH:mm:ss")
    (row,) = timed(spark.createDataFrame(pa.table({"ts": ["1746100539142"]})), named).collect()
    assert row["at_us"] is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("%Y-%m-%d", "has a %"),
        ("yyyy-MM-dd", "has no H"),
        ("MM-dd HH:mm", "has no y"),
        ("yyyy-MM-dd HH:mm:ss EEE", "has E"),
        ("yyyy-MM-ddTHH:mm", "has T"),
        ("yyyyy-MM-dd HH", "repeats a letter too often"),
        ("y" * 200, "has 200 characters"),
    ],
)
def test_a_format_of_times_is_checked_before_spark_starts(text: str, words: str) -> None:
    problem = format_problem(text)
    assert problem is not None and words in problem[0]
    with pytest.raises(ScenarioError, match=r"m\.yaml:2:14: time_format"):
        mapping_of(f"format: 1\ntime_format: {json.dumps(text)}\n", "m.yaml")


def test_an_id_of_several_columns_is_checked() -> None:
    text = "columns: {ts: t, kind: k, message_id: [a, b], topic: [c, d], position: []}\n"
    with pytest.raises(ScenarioError) as error:
        mapping_of(f"format: 1\n{text}", "m.yaml")
    found = [str(problem) for problem in error.value.problems]
    assert len(found) == 2 and "columns.topic: is a list" in found[0] and "1 to 8" in found[1]
    one = mapping_of("format: 1\ncolumns: {ts: t, kind: k, message_id: [a, b]}\n", "m.yaml")
    assert one.sources("message_id") == ("a", "b") and one.sources("ts") == ("t",)


# -- JSON inside a field


def test_dotted_paths_go_through_text_that_is_json(spark: Any, tmp_path: Path) -> None:
    """Docker's json-file, Elasticsearch with the line as text in a field, and an object; one line is no JSON."""
    docker = [json.dumps({"log": line + "\n", "stream": "stdout", "time": "x"}) for line in LINES[:5]]
    whole = [json.dumps({"log": row}) for row in ROWS[5:8]]
    twice = [json.dumps({"log": json.dumps(json.dumps(row)[:-1] + "}")}) for row in ROWS[8:9]]
    twice = [json.dumps({"log": line}) for line in LINES[8:9]]
    flat = [json.dumps({f"log.{name}": value for name, value in row.items()}) for row in ROWS[9:]]
    noise = json.dumps({"log": "Started in 3 s\n", "stream": "stderr"})
    report = audited(
        spark, tmp_path, {"c-json.log": "\n".join([*docker, *whole, *twice, *flat, noise])}, columns=INSIDE
    )
    assert figures(report) == (2, 1, 1)
    assert report["unreadable"]["reasons"] == {"log is no JSON object": 1}
    hits = [json.dumps({"_source": {"message": json.dumps({"log": line})}}) for line in LINES]
    deep = {name: f"_source.message.{path}" for name, path in INSIDE.items()}
    assert figures(audited(spark, tmp_path / "deep", {"a.json": "\n".join(hits)}, columns=deep)) == (2, 1, 0)


def test_json_in_a_column_of_csv_and_parquet(spark: Any, tmp_path: Path) -> None:
    columns = {**INSIDE, "cluster": "region"}
    quoted = ['"' + line.replace('"', '""') + '"' for line in LINES]
    text = "\n".join(
        ["region,log", *(f"{row['cluster']},{cell}" for row, cell in zip(ROWS, quoted, strict=True))]
    )
    assert figures(audited(spark, tmp_path / "a", {"log.csv": text + "\n"}, columns=columns)) == (2, 1, 0)
    table = pa.table({"region": [row["cluster"] for row in ROWS], "log": LINES})
    (tmp_path / "b").mkdir()
    pq.write_table(table, tmp_path / "b.parquet")
    mapping = mapping_of(json.dumps({"format": 1, "columns": columns}), "m")
    assert figures(Audit(spark, [str(tmp_path / "b.parquet")], tmp_path / "b/out", mapping).make()) == (
        2,
        1,
        0,
    )
    bad = mapping_of(json.dumps({"format": 1, "columns": {**columns, "topic": "lag.topic"}}), "m")
    with pytest.raises(
        AuditError, match=r"no column lag\.topic \(for topic\); its columns are region \(west\), log"
    ):
        Audit(spark, [str(tmp_path / "b.parquet")], tmp_path / "b/out", bad).make()


def test_lines_of_a_kubernetes_node(spark: Any, tmp_path: Path) -> None:
    lines = [f"2025-05-01T11:55:39.142000001Z stdout F {line}" for line in LINES]
    lines.append('2025-05-01T11:55:39.142000001Z stdout P {"ts": 17461')
    assert figures(audited(spark, tmp_path, {"0.log": "\n".join(lines)})) == (2, 1, 1)


@pytest.mark.parametrize(
    "before",
    [
        "2025-05-01T11:55:39.142000001Z ",
        "2025-05-01T13:55:39.142000001+02:00 ",
        "[pod/app-0/app] ",
        "[pod/app-0/app] 2025-05-01T11:55:39.142000001Z ",
        "app-1  | ",
    ],
    ids=["kubectl --timestamps", "another zone", "kubectl --prefix", "both", "docker compose"],
)
def test_lines_behind_their_instant_or_source(spark: Any, tmp_path: Path, before: str) -> None:
    text = "\n".join(before + line for line in LINES)
    assert figures(audited(spark, tmp_path, {"0.log": text})) == (2, 1, 0)


# -- arrays, lines before the content, encodings

CURL = (
    "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n"
    "                                 Dload  Upload   Total   Spent    Left  Speed\n"
    "\r  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0"
    "\r100  1190  100  1190    0     0  11900      0 --:--:--  0:00:01 --:--:-- 11900"
)
HTTP = "HTTP/1.1 200 OK\r\nDate: Thu, 01 May 2025 11:55:39 GMT\r\nContent-Type: application/json\r\nbroker-address: b\r\n\r\n"
KUBECTL = 'Defaulted container "app" out of: app, wait (init)\n'


WRITTEN: tuple[tuple[str, bytes | str], ...] = (
    ("indented.json", json.dumps(ROWS, indent=1)),
    ("one-line.json", json.dumps(ROWS)),
    ("long-line.json", json.dumps([{**row, "text": "x" * 200_000} for row in ROWS])),
    ("a-line-each.json", "[\n" + ",\n".join(LINES) + "\n]\n"),
    ("commas-first.json", "[" + "\n, ".join(LINES) + "]"),
    ("objects.json", "\n".join(json.dumps(row, indent=2) for row in ROWS)),
    ("hits.json", json.dumps({"took": 1, "hits": {"total": {"value": 11}, "hits": ROWS}})),
    ("items.json", json.dumps({"items": ROWS})),
    ("list.json", json.dumps({"apiVersion": "v1", "metadata": {"n": "1"}, "items": ROWS, "kind": "List"})),
    ("list-indented.json", json.dumps({"total": len(ROWS), "next": None, "items": ROWS}, indent=2)),
    ("items-a-line-each.json", '{\n"items": [\n' + ",\n".join(LINES) + "\n]\n}\n"),
    ("events.json", json.dumps({"events": ROWS, "searchedLogStreams": [], "nextToken": "x"})),
    ("results.json", json.dumps({"preview": False, "results": ROWS}, indent=2)),
    (
        "pages.json",
        "\n".join(
            json.dumps({"hits": {"total": {"value": 11}, "hits": half}}) for half in (ROWS[:5], ROWS[5:])
        ),
    ),
    ("kubectl.log", KUBECTL + "\n".join(LINES)),
    ("http.json", HTTP + json.dumps(ROWS, indent=1)),
    ("http.jsonl", HTTP + "\n".join(LINES)),
    ("curl.json", CURL + json.dumps(ROWS)),
    ("curl.jsonl", CURL + "\n".join(LINES)),
    ("mark.jsonl", b"\xef\xbb\xbf" + "\n".join(LINES).encode()),
    ("mark.json", b"\xef\xbb\xbf" + json.dumps(ROWS, indent=1).encode()),
    ("wide.jsonl", "\r\n".join(LINES).encode("utf-16")),
    ("wide-be.json", json.dumps(ROWS, indent=1).encode("utf-16-be")),
    ("packed.json.gz", gzip.compress(json.dumps(ROWS, indent=1).encode())),
    (
        "wide.csv",
        "\r\n".join([",".join(NAMES), *(",".join(map(str, row.values())) for row in ROWS)]).encode("utf-16"),
    ),
)


def test_files_as_tools_write_them(spark: Any, tmp_path: Path) -> None:
    """One audit of all of them; each file is a topic of its own."""
    report = audited(spark, tmp_path, dict(WRITTEN), from_path={"topic": "/([^/]+)$"})
    assert report["rows"]["total"] == len(WRITTEN) * len(ROWS) and report["rows"]["unreadable"] == 0
    got = {one["topic"]: (one["in_several_clusters"], one["duplicates"]) for one in report["groups"]}
    assert got == {name: (2, 1) for name, _ in WRITTEN}


# -- Loki: streams of a query, and the lines of logcli

STREAMS = [
    {
        "stream": {"cluster": cluster, "app": "billing"},
        "values": [
            [f"{row['ts']}000", json.dumps(row), *([{"trace_id": "t"}] if row["kind"] == "ack" else [])]
            for row in ROWS
            if row["cluster"] == cluster
        ],
    }
    for cluster in ("west", "east")
]
LOKI = {"status": "success", "data": {"resultType": "streams", "result": STREAMS, "stats": {"a": [1]}}}
LOGCLI = [
    json.dumps(
        {"labels": one["stream"], "line": line, "timestamp": f"2025-05-01T11:56:{second:02}.142000001Z"}
    )
    for one in STREAMS
    for second, (_ns, line, *_more) in enumerate(one["values"])
]
EXPORTS: tuple[tuple[str, str], ...] = (
    ("query.json", json.dumps(LOKI)),
    ("indented.json", json.dumps(LOKI, indent=2)),
    (
        "long.json",
        json.dumps(
            {
                **LOKI,
                "data": {
                    **LOKI["data"],
                    "result": [*STREAMS, {"stream": {"x": "y" * 2_000_000}, "values": []}],
                },
            }
        ),
    ),
    (
        "pages.json",
        "\n".join(json.dumps({"data": {"resultType": "streams", "result": [one]}}) for one in STREAMS),
    ),
    ("pushed.json", json.dumps({"streams": STREAMS})),
    ("logcli.jsonl", "\n".join(LOGCLI)),
)
LABELS = {"ts": "timestamp", "cluster": "labels.cluster"}
PARTS = r'^(?P<cluster>\w+)\t(?P<ts>\S+)\t.*"kind": "(?P<kind>\w+)", "message_id": "(?P<message_id>[^"]+)"'


@pytest.mark.parametrize(
    "mapping",
    [
        {"columns": {**LABELS, "kind": "line.kind", "message_id": "line.message_id"}},
        {"pattern": PARTS, "fields": ["labels.cluster", "timestamp", "line"]},
    ],
)
def test_lines_of_loki_are_rows_with_the_labels_of_their_stream(
    spark: Any, tmp_path: Path, mapping: dict[str, Any]
) -> None:
    report = audited(
        spark,
        tmp_path,
        dict(EXPORTS),
        constants={"subscription": "billing"},
        from_path={"topic": "/([^/]+)$"},
        **mapping,
    )
    assert report["rows"]["total"] == len(EXPORTS) * len(ROWS) and report["rows"]["unreadable"] == 0
    got = {one["topic"]: one["in_several_clusters"] for one in report["groups"]}
    assert got == {name: 2 for name, _ in EXPORTS}


def test_only_streams_and_responses_are_taken_apart_among_other_values() -> None:
    record = '{"ts": 1, "data": {"result": [{"x": 1}]}}'
    assert list(values(record)) == [record] and not documents.is_list(record, alone=False)
    metrics = '{"data": {"result": [{"metric": {}, "values": [[1, "2"]]}]}}'
    assert list(values(metrics)) == [metrics]
    stream = '{"values": [["1", "a\\"]"]], "stream": {"b": "c"}}'
    line = '{"labels": {"b": "c"}, "timestamp": "1", "line": "a\\"]"}'
    assert list(values('{"data": {"result": [' + stream + "]}}")) == [line]
    assert list(values('{"streams": [' + stream + ', {"stream": {"b"')) == [line, CUT_OFF]


def test_what_is_cut_off_is_an_unreadable_row(spark: Any, tmp_path: Path) -> None:
    content = json.dumps(ROWS, indent=1)
    report = audited(spark, tmp_path, {"cut.json": content[: content.rindex("{") + 9]})
    assert (report["rows"]["readable"], report["rows"]["unreadable"]) == (len(ROWS) - 1, 1)
    assert list(values('[{"a": 1}, {"b": 2},')) == ['{"a": 1}', '{"b": 2}', CUT_OFF]
    assert list(values('[{"a": "x')) == [CUT_OFF] and list(values('{"a": [1}')) == [CUT_OFF]


def test_values_are_found_by_their_brackets() -> None:
    text = '[ {"a": "]}\\"{", "b": [1, {}]},\n {"c":\n 2}\n, 3, "x,]"]\n{"d": 4} {"e": 5}\nend'
    found = ['{"a": "]}\\"{", "b": [1, {}]}', '{"c":  2}', "3", '"x,]"', '{"d": 4}', '{"e": 5}', "end"]
    assert list(values(text)) == found
    order = '{"id": 1, "items": [{"sku": 2}]}'
    assert list(values(order)) == ['{"sku": 2}'] and list(values(f"{order}\n{order}")) == [order, order]
    assert list(values('{"items": [{"a": 1}, {"b"')) == ['{"a": 1}', CUT_OFF]
    assert list(values("no JSON\nat all")) == ["no JSON", "at all"]
    for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        assert decoded('{"ä": 1}'.encode(encoding)) == '{"ä": 1}'


@pytest.mark.parametrize(
    "text",
    [
        "[" * 500_000,
        '["' + '\\"' * 500_000,
        '{"a":' * 200_000,
        " " * 500_000 + "x",
        "0" * 500_000,
        "[{}" + "," * 500_000,
        "} " * 200_000 + "x",
        "[" + " " * 500_000 + "x",
        '{"items": [' + " " * 500_000 + "x",
        '{"a": {' * 200_000 + '"items": [{}]',
        '{"streams": [{"stream": {}, "values": [' + '["1"' * 200_000,
        "{" + '"a": 1, ' * 100_000 + "x",
        "\n" * 500_000,
    ],
)
def test_hostile_texts_are_split_in_linear_time(text: str) -> None:
    """Each takes hours where a search is quadratic."""
    assert sum(1 for _ in values(text)) in (1, 2, 500_000)
    assert text[0] == "\n" or (bare_line(text) is None) == (text == "[" * len(text))


def failure(audit: Audit) -> str:
    with pytest.raises(Exception) as error:
        audit.make()
    return str(error.value) if isinstance(error.value, AuditError) else input_problem(error.value) or ""


def test_an_array_beyond_the_limit_is_refused_with_what_would_be_right(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "DOCUMENT_MIB", 1)
    long = {**ROWS[0], "text": "x" * 1000}
    for name, content in (
        ("lines.json", json.dumps([long] * 1200, indent=1).encode()),
        ("line.json", json.dumps([long] * 2400).encode()),
        ("wide.jsonl", ("\n".join([json.dumps(long)] * 600)).encode("utf-16")),
    ):
        (tmp_path / name).write_bytes(content)
        words = failure(Audit(spark, [str(tmp_path / name)], tmp_path / "out"))
        assert "at most 1 MiB are read at once" in words and "jq -c '.[]'" in words and "iconv" in words
    (tmp_path / "packed.json.gz").write_bytes(gzip.compress(json.dumps([long] * 2000, indent=1).encode()))
    audit = Audit(spark, [str(tmp_path / "packed.json.gz")], tmp_path / "out", expanded_mib=1)
    assert "packed.json.gz expands to more than 1 MiB; write one object per line" in failure(audit)


def test_a_large_array_with_a_line_for_each_element_has_no_limit(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "DOCUMENT_MIB", 0)
    report = audited(spark, tmp_path, {"a.json": "[" + ",\n".join(LINES) + "]\n"})
    assert figures(report) == (2, 1, 0)


def test_output_of_verifiable_tools_is_never_read_at_once(spark: Any, tmp_path: Path) -> None:
    one = {"timestamp": 1, "name": "records_consumed", "partitions": [{"minOffset": 1, "maxOffset": 9999}]}
    (tmp_path / "a.json").write_text(json.dumps([one], indent=1))
    assert "one object per line in UTF-8" in failure(Audit(spark, [str(tmp_path)], tmp_path / "out"))


# -- stats-internal


def dump(mark: str, ranges: Any, total: int | None = None) -> dict[str, Any]:
    """Ledger 7 with 119 entries, and a subscription."""
    cursor = {"markDeletePosition": mark, "individuallyDeletedMessages": ranges}
    return {
        "entriesAddedCounter": 119,
        "lastConfirmedEntry": "7:118",
        "currentLedgerEntries": 119,
        "ledgers": [{"ledgerId": 7, "entries": 0}],
        "cursors": {
            "billing": {
                **cursor,
                **({} if total is None else {"totalNonContiguousDeletedMessagesRange": total}),
            },
            "pulsar.repl.b": {"markDeletePosition": "7:118", "individuallyDeletedMessages": "[]"},
        },
    }


WHOLE = "[(7:85..7:90],(7:92..7:95]]"


@pytest.mark.parametrize(
    ("ranges", "total", "deleted", "why"),
    [
        (WHOLE, 2, 8, ""),
        ("[(7:85‥7:90], (7:92‥7:95]]", 2, 8, ""),
        ("[[7:86..7:90],(7:92..7:96)]", None, 8, ""),
        ("[]", 0, 0, ""),
        ("[(7:85..7:90],(7:92..", 2, 5, "cut off after 1 ranges"),
        ("[(7:85..7:90]", 1, 5, "cut off after 1 ranges"),
        ("[(7:85..7:90],...]", None, 5, "cut off after 1 ranges"),
        ("[(7:85..7:90]]", 2, 5, "has 1 of 2 ranges"),
        ("[(7:92..7:95],(7:85..7:90]]", 2, 3, "the range (7:85..7:90] is not after"),
        ("[(7:95..7:92]]", 1, 0, "the range (7:95..7:92] is not after"),
        ("", 0, 0, "cut off after 0 ranges"),
        (None, 0, 0, "is missing"),
    ],
)
def test_a_list_of_ranges_that_is_cut_gives_no_false_bound(
    ranges: str | None, total: int | None, deleted: int, why: str
) -> None:
    """Of b's 38 entries behind 7:80, those that a has not read either are not repeated: 38 - 8 of a's 38."""
    a, b = (
        topics_of(json.dumps(one), name, Mapping())[0]
        for name, one in (("a.json", dump("7:80", ranges, total)), ("b.json", dump("7:80", "[]")))
    )
    own = figures_of(a, a.cursors["billing"])
    assert (
        own["individually_deleted"] == deleted
        and why in own["incomplete"]
        and bool(why) == bool(own["incomplete"])
    )
    pair = next(one for one in positions([a, b]) if one["from"] == "a")
    assert pair["repeated_most"] == (38 if why else deleted)
    assert pair["ack_holes_most"] >= deleted and (why == "" or pair["ack_holes_most"] == 38)
    found = incomplete([pair])
    assert [one.code for one in found] == (["ranges_incomplete"] if why else [])
    assert not why or why in found[0].text


def test_stats_internal_with_lines_of_tools_around_it_and_as_an_array() -> None:
    text = json.dumps(dump("7:80", WHOLE), indent=2)
    for before in (KUBECTL, HTTP, CURL, "\ufeff", "WARNING: Using incubator modules: jdk.incubator.vector\n"):
        (topic,) = topics_of(before + text + "\n", "a.json", Mapping())
        assert figures_of(topic, topic.cursors["billing"])["individually_deleted"] == 8
    both = [
        {"cluster": name, "topic": "persistent://public/default/t", **dump("7:80", WHOLE)} for name in "ab"
    ]
    assert [one[:2] for one in topics_of(json.dumps(both), "x.json", Mapping())] == [("t", "a"), ("t", "b")]
    for bad in (text + text, text[:-9], "[[]]", "[" * 100_000, text.replace("7:80", "7:"), "nothing"):
        with pytest.raises(AuditError, match="no output of stats-internal"):
            topics_of(bad, "a.json", Mapping())


def test_a_cut_list_is_a_finding_of_the_audit(spark: Any, tmp_path: Path) -> None:
    files = {
        "a.json": KUBECTL + json.dumps(dump("7:80", WHOLE[:20]), indent=2),
        "b.json": json.dumps(dump("7:80", "[]")).encode("utf-16"),
    }
    report = audited(spark, tmp_path, files)
    (found,) = report["findings"]
    assert found["code"] == "ranges_incomplete" and "billing in a" in found["text"]
