"""Regular expressions of a mapping, ready mappings, and files whose columns are unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from simulator import ScenarioError
from spark_reports.audit import mapping as patterns
from spark_reports.audit.command import add_arguments
from spark_reports.audit.errors import AuditError, input_problem
from spark_reports.audit.job import Audit
from spark_reports.audit.mapping import (
    READY,
    LineScan,
    mapping_of,
    of_paths,
    path_problem_of,
    problem_of,
    ready_text,
    ready_words,
)


def lines_of(*lines: str | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(lines), pa.array(["f"] * len(lines))], names=["value", "file"]
    )


def found(name: str, *lines: str) -> list[dict[str, str] | None]:
    """What the pattern of a ready mapping finds in each line; None for a line that is no row."""
    scan = LineScan(mapping_of(ready_text(name), name).pattern)
    [made] = scan([lines_of(*lines)])
    return [
        None
        if row["problem"]
        else {group: row[column] for group, column in zip(scan.groups, scan.columns) if row[column]}
        for row in made.to_pylist()
    ]


def test_a_line_of_pulsar_client_consume_identifies_its_message() -> None:
    """The format of AbstractCmdConsume.interpretMessage; the boundary is a line of its own."""
    line = "publishTime:[1746100539142], eventTime:[0], key:[k-1], properties:[a=b], content:hello, you"
    assert found("pulsar-client-consume", "----- got message -----", line, f"12:00:01 {line}", "hello") == [
        None,
        {"ts": "1746100539142", "message_id": line},
        {"ts": "1746100539142", "message_id": line},
        None,
    ]


def test_lines_of_kafka_console_consumer() -> None:
    """The order of DefaultMessageFormatter.writeTo, with and without the optional parts."""
    assert found(
        "kafka-console-consumer",
        "CreateTime:1746100539142\tPartition:3\tOffset:42\tkey\tvalue",
        "LogAppendTime:1746100539142\tPartition:3\tOffset:43",
        "CreateTime:1746100539142\tPartition:0\tOffset:7\tDelivery:2\tEpoch:3\tNO_HEADERS\tnull\tv",
        "CreateTime:1746100539142\tPartition:0\tOffset:7\tDelivery:NOT_PRESENT\tv",
        "Processed a total of 3 messages",
    ) == [
        {"ts": "1746100539142", "partition": "3", "position": "42"},
        {"ts": "1746100539142", "partition": "3", "position": "43"},
        {"ts": "1746100539142", "partition": "0", "position": "7", "delivery_count": "2"},
        {"ts": "1746100539142", "partition": "0", "position": "7"},
        None,
    ]


def test_lines_of_log4j() -> None:
    at = "2025-05-01 11:55:39,142"
    assert found(
        "log4j",
        f"{at} [pulsar-client-io-1-1] INFO  com.shop.Billing - Received message order-7 from persistent://a/b/t-partition-3",
        f"{at} INFO  [main] com.shop.Billing:41 - acked msgId=1234:56:3",
        f"[{at}] INFO Sent record id: 7f3a-1 (com.shop.Orders)",
        "2025-05-01T11:55:39,142+0000 [message-received-1] INFO  com.shop.Billing - starting 3 consumers",
        "\tat com.shop.Billing.received(Billing.java:41)",
    ) == [
        {"ts": at, "kind": "Received", "message_id": "order-7", "topic": "persistent://a/b/t-partition-3"},
        {"ts": at, "kind": "acked", "position": "1234:56:3"},
        {"ts": at, "kind": "Sent", "message_id": "7f3a-1"},
        None,
        None,
    ]


def test_lines_of_logback_and_spring_boot() -> None:
    spring = "2025-05-01T11:55:39.142+02:00"
    assert found(
        "logback",
        "2025-05-01 11:55:39.142 [main] INFO  com.shop.Billing - Received message with id order-7",
        f"{spring}  INFO 1 --- [billing] [ntainer#0-0-C-1] com.shop.Billing      : Processing event: 'e-12'",
        f"{spring}  INFO 4242 --- [main] c.s.Billing : Acknowledged message (1234:56:-1:4) of persistent://a/b/c",
        "2025-05-01 11:55:39.142 [main] INFO  com.shop.Billing - started in 3.2 s",
    ) == [
        {"ts": "2025-05-01 11:55:39.142", "kind": "Received", "message_id": "order-7"},
        {"ts": spring, "kind": "Processing", "message_id": "e-12"},
        {"ts": spring, "kind": "Acknowledged", "position": "1234:56:-1:4", "topic": "persistent://a/b/c"},
        None,
    ]


def test_lines_of_an_emqx_trace() -> None:
    """The formats of emqx_trace_formatter and emqx_packet:format, of 5.0 and later versions."""
    at, payload = "2026-08-07T08:39:24.123456+02:00", '{"id": 7, "x": (1)}'
    sent = "msg: mqtt_packet_sent, packet: PUBLISH(Q1, R0, D0, Topic=orders/1, PacketId=12, Payload"
    delivered = {"ts": at, "consumer": "c@1", "kind": "mqtt_packet_sent", "topic": "orders/1"}
    assert found(
        "emqx-trace",
        f"{at} [MQTT] c@1@127.0.0.1:1883 {sent}(text)=id-7), username: bob",
        f"{at} [WS-MQTT] c@1@127.0.0.1:1883 {sent}={payload})",
        f"{at} [PUBLISH] p@[::1]:1883 tns: shop msg: publish_to, payload_encode: text, topic: o/1, payload: {payload}",
        f"{at} [MQTT] c@127.0.0.1:1883 msg: mqtt_packet_received, packet: PUBACK(Q0, R0, D0, PacketId=12, ReasonCode=0)",
    ) == [
        {**delivered, "message_id": "id-7"},
        {**delivered, "message_id": payload},
        {"ts": at, "consumer": "p", "kind": "publish_to", "topic": "o/1", "message_id": payload},
        None,
    ]


def trace_line(at: str, msg: str, **meta: str) -> str:
    """A line of emqx_trace_json_formatter: its maps have atoms for keys, which sort by name."""
    meta = {"clientid": "c@1", "peername": "127.0.0.1:1883", "pid": "<0.2903.0>", **meta}
    return json.dumps({"level": "debug", "meta": dict(sorted(meta.items())), "msg": msg, "time": at})


def test_a_json_trace_of_emqx(spark: Any, tmp_path: Path) -> None:
    """Publishes have topic and payload; packets sent are text, with what is not PUBLISH left out."""
    at = "2026-08-07T08:39:{:02}.123456+02:00"

    def sent(second: int, payload: str, packet: str = "12") -> str:
        inside = f"PUBLISH(Q1, R0, D0, Topic=orders/1, PacketId={packet}, Payload(text)={payload})"
        return trace_line(
            at.format(second), "mqtt_packet_sent", packet=inside, payload_encode="text", tag="MQTT"
        )

    published = {
        "payload": '{"id": 7, "x": (1)}',
        "payload_encode": "text",
        "tag": "PUBLISH",
        "topic": "orders/1",
    }
    ack = "PUBACK(Q0, R0, D0, PacketId=12, ReasonCode=0)"
    lines = [
        trace_line(at.format(1), "publish_to", **published),
        trace_line(at.format(2), "mqtt_packet_sent", packet="CONNACK(Q0, R0, D0, AckFlags=0, ReasonCode=0)"),
        sent(3, '{"id": 7, "x": (1)}'),
        sent(4, "id-8\twith a tab", "undefined"),
        trace_line(at.format(5), "mqtt_packet_received", packet=ack),
        trace_line(
            at.format(6),
            "mqtt_packet_received",
            packet="PUBLISH(Q1, R0, D0, Topic=x, PacketId=1, Payload=id-9)",
        ),
        trace_line(at.format(7), "subscribe", topic="orders/#", sub_id="c@1"),
        sent(8, '{"id": 7, "x": (1)}'),
        "no JSON",
    ]
    (tmp_path / "trace.log").write_text("\n".join(lines) + "\n")
    mapping = mapping_of(
        "format: 1\nmapping: emqx-trace-json\nconstants: {cluster: a, subscription: meters}\n", "m.yaml"
    )
    report = Audit(spark, [str(tmp_path / "trace.log")], tmp_path / "out", mapping).make()
    [group] = report["groups"]
    assert (group["deliveries"], group["messages"], group["topic"]) == (3, 2, "orders/1")
    [losses] = report["losses"]
    assert (losses["topic"], losses["published"]) == ("orders/1", 1)
    [left_out] = [one for one in report["findings"] if one["code"] == "other_lines"]
    assert left_out["count"] == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fields: [a]\ncolumns: {ts: a, kind: b, message_id: c}", "fields: need a pattern"),
        ("fields: a\npattern: '(?P<ts>a)(?P<kind>b)(?P<message_id>c)'", "fields: is no list of fields"),
        ("fields: [1, '']\npattern: '(?P<ts>a)(?P<kind>b)(?P<message_id>c)'", "fields: is no list of fields"),
    ],
)
def test_fields_are_a_bounded_list_beside_a_pattern(text: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        mapping_of(f"format: 1\n{text}\n", "m.yaml")


def test_every_ready_mapping_is_listed_with_its_use(capsys: pytest.CaptureFixture) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(["--mappings"])
    listed = capsys.readouterr().out
    assert ended.value.code == 0
    for name in READY:
        assert f"--mapping {name}\n# {ready_words(name)}" in listed


def test_a_mapping_file_builds_upon_a_ready_one() -> None:
    own = mapping_of(
        "format: 1\nmapping: logback\nconstants: {topic: orders, subscription: billing}\nkinds: {sent: ignore}\n",
        "m.yaml",
    )
    ready = mapping_of(ready_text("logback"), "logback")
    assert own.pattern == ready.pattern and "topic" in ready.columns
    assert "topic" not in own.columns and own.constants["topic"] == "orders"
    assert own.kinds == {**ready.kinds, "sent": "ignore"}


@pytest.mark.parametrize(
    ("pattern", "what", "right"),
    [
        (r"(?P<ts>((?:a+)+)\2q)", r"invalid escape sequence: \2", "no back references"),
        ("(?=x)(?P<ts>x)", "invalid perl operator: (?=", "no look-ahead"),
        ("(?<!x)(?P<ts>x)", "invalid perl operator: (?<!", "no look-behind"),
        ("(?>a+)(?P<ts>x)", "invalid perl operator: (?>", "no atomic groups"),
        ("(?P<ts>x++)", "bad repetition operator: ++", "no possessive"),
        ("(?P<ts>x{1001})", "invalid repetition size", "1,000"),
        ("(?P<ts>(?:x{100}){100})", "invalid repetition size", "1,000"),
        (r"(?P<ts>\pL{1000})", "pattern too large", "narrower classes"),
        ("(x)(?P<ts>y)", "contains unnamed groups", "write (?:…)"),
        ("(?P<ts>x)(?P<ts>y)", "has the group ts twice", "its own name"),
        ("x", "has no named group", "(?P<ts>…)"),
        ("(?P<ts>x", "missing )", "one that RE2 knows"),
        ("".join(f"(?P<g{number}>x)" for number in range(31)), "has 31 groups", "at most 30"),
        (f"(?P<ts>{'x' * 2000})", "has 2,008 characters", "at most 2,000"),
    ],
)
def test_a_pattern_that_re2_does_not_take_is_refused_with_advice(pattern: str, what: str, right: str) -> None:
    wrong = problem_of(pattern)
    assert wrong is not None and what in wrong[0] and right in wrong[1]
    with pytest.raises(ScenarioError, match="m.yaml:2:10: pattern: "):
        mapping_of(f"format: 1\npattern: '{pattern}'\nconstants: {{kind: deliver}}\n", "m.yaml")


def test_a_pattern_at_the_limits_is_taken() -> None:
    assert problem_of("".join(f"(?P<g{number}>x)" for number in range(30))) is None
    assert problem_of(f"(?P<ts>{'x' * 1992})") is None


@pytest.mark.parametrize("pattern", ["(?P<a>(?:a+)+)q", "(?P<a>(?:a|a?)+)q", "(?P<a>(?:.*)*)a.{999}q"])
def test_a_pattern_that_lets_other_engines_hang_takes_linear_time(pattern: str) -> None:
    """Each is beyond 2**1000 steps for an engine with backtracking: it would not end."""
    [made] = LineScan(pattern)([lines_of("a" * 16_384)])
    assert made.column("problem").to_pylist() == [patterns.OTHER_LINE]


def test_a_pattern_that_needs_too_much_processor_time_ends_with_advice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patterns, "SECONDS_FREE", 0)
    monkeypatch.setattr(patterns, "SECONDS_PER_MIB", 0)
    with pytest.raises(ValueError, match=patterns.TOO_SLOW_MARK) as raised:
        list(LineScan(r"(?P<a>\pL{0,150}\pL{0,150})q")([lines_of(*["é" * 1000] * 9)]))
    text = input_problem(Exception(f"Job aborted: ValueError: {raised.value}\n\nDriver stacktrace:"))
    assert text and "the pattern of the mapping takes too long" in text and "narrower classes" in text


def test_a_line_beyond_the_limit_is_unreadable_and_others_are_read() -> None:
    [made] = LineScan("(?P<a>x+)")([lines_of("x" * 16_385, "x" * 16_384, "y", "")])
    assert made.column("problem").to_pylist() == [
        patterns.LONG_LINE,
        None,
        patterns.OTHER_LINE,
        patterns.OTHER_LINE,
    ]


def test_a_path_is_matched_by_the_same_engine() -> None:
    paths = ["file:/logs/east/x.log", "file:/other", "s3a://a/logs/b/logs/c/"]
    assert of_paths("/logs/([^/]+)/", paths) == ["east", None, "b"]
    assert of_paths("(?P<region>east|west)", paths) == ["east", None, None]
    assert of_paths("((?:a+)+)q", [f"/{'a' * 4000}"]) == [None]
    for pattern, what in (
        (r"((?:a+)+)\1q", r"invalid escape sequence: \1"),
        ("(a)(b)", "has several groups"),
        ("x", "has no group"),
        ("a)(b", "unexpected )"),
        (f"({'x' * 2000})", "has 2,002 characters"),
    ):
        wrong = path_problem_of(pattern)
        assert wrong is not None and what in wrong[0], pattern


def test_columns_that_are_no_group_of_the_pattern_are_named() -> None:
    text = "format: 1\npattern: '(?P<ts>x)(?P<b>y)'\ncolumns: {ts: ts, message_id: c, kind: b}\n"
    with pytest.raises(ScenarioError, match='m.yaml:3:31: columns.message_id: "c" is no group') as raised:
        mapping_of(text, "m.yaml")
    assert "its groups are ts, b" in str(raised.value)


def test_text_logs_of_two_regions_are_audited_by_a_ready_mapping(spark: Any, tmp_path: Path) -> None:
    """7 and 8 reach east after west; 7 had been acked. Other lines are counted, not read."""
    logs = {
        "west a": [
            "2025-05-01 11:55:39.100 [main] INFO  com.shop.Billing - Received message order-7",
            "2025-05-01 11:55:39.200 [main] INFO  com.shop.Billing - Acked message order-7",
            "2025-05-01 11:55:39.300 [main] INFO  com.shop.Billing - Received message order-8",
            "java.lang.IllegalStateException: closed",
            "\tat com.shop.Billing.received(Billing.java:41)",
            "2025-05-01 11:55:39.400 [main] INFO  com.shop.Billing - Received message " + "9" * 17_000,
        ],
        "east": [
            "2025-05-01 11:55:44.100 [main] INFO  com.shop.Billing - Received message order-7",
            "2025-05-01 11:55:44.300 [main] INFO  com.shop.Billing - Received message order-8",
            "2025-05-01 11:55:44.400 [main] INFO  com.shop.Billing - Received message order-9",
        ],
    }
    for region, lines in logs.items():
        (tmp_path / "logs" / region).mkdir(parents=True)
        (tmp_path / "logs" / region / "app.log").write_text("\n".join(lines) + "\n")
    mapping = mapping_of(
        "format: 1\nmapping: logback\nfrom_path: {cluster: '/(east|west)'}\nconstants: {subscription: billing}\n",
        "m.yaml",
    )
    report = Audit(spark, [str(tmp_path / "logs")], tmp_path / "out", mapping).make()
    [group] = report["groups"]
    assert (group["subscription"], group["deliveries"], group["messages"]) == ("billing", 5, 3)
    assert (group["in_several_clusters"], group["duplicates"]) == (2, 1)
    assert report["clusters"] == ["east", "west"]
    assert report["unreadable"]["reasons"] == {patterns.LONG_LINE: 1}
    assert {one["code"]: one["count"] for one in report["findings"]}["other_lines"] == 2
    assert report["rows"]["total"] == 7
    unreadable = (tmp_path / "out" / "unreadable.jsonl").read_text().splitlines()
    assert len(unreadable) == 1


RECEIVED = "2025-05-01 11:55:39.{}00 [main] INFO  com.shop.Billing - Received message order-{}"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_logs_have_any_encoding_and_what_kubectl_and_curl_print_is_left_out(
    spark: Any, tmp_path: Path, encoding: str
) -> None:
    lines = [
        'Defaulted container "billing" out of: billing, proxy',
        "HTTP/1.1 200 OK",
        "Content-Type: text/plain",
        "2025-05-01T11:55:39.100000000Z stdout F " + RECEIVED.format(1, 7),
        RECEIVED.format(2, 8),
        "java.lang.IllegalStateException: closed",
    ]
    (tmp_path / "app.log").write_bytes("\r\n".join(lines).encode(encoding))
    mapping = mapping_of(
        "format: 1\nmapping: logback\nconstants: {cluster: east, subscription: billing}\n", "m.yaml"
    )
    report = Audit(spark, [str(tmp_path / "app.log")], tmp_path / "out", mapping).make()
    [group] = report["groups"]
    assert (group["deliveries"], group["messages"]) == (2, 2)
    assert {one["code"]: one["count"] for one in report["findings"]}["other_lines"] == 1


def test_a_pattern_may_match_what_a_node_writes_before_a_line() -> None:
    scan = patterns.LineScan(
        r"^(?P<ts>\S+) stdout F got (?P<message_id>\S+)$", "^\\S+ stdout F ", "^date: .*$"
    )
    lines = [
        "2025-05-01T11:55:39Z stdout F got m1",
        "date: today",
        "\ufeff2025-05-01T11:55:39Z stdout F got m2",
    ]
    [made] = scan(iter([pa.RecordBatch.from_pydict({"value": lines, "file": ["f"] * len(lines)})]))
    assert made.column("group_message_id").to_pylist() == ["m1", "m2"]
    assert made.column("problem").to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (
            "log.csv",
            "when,op,id\n2025-05-01,recv,7\n",
            "its columns are when (2025-05-01), op (recv), id (7)",
        ),
        (
            "log.jsonl",
            json.dumps({"event": {"at": 17, "op": "recv"}, "id": None}) + "\n" + json.dumps({"id": "m"}),
            "its columns are event.at (17), event.op (recv), id (m)",
        ),
        ("app.log", "11:55 got it\n", "Its first line: 11:55 got it"),
    ],
)
def test_a_file_of_unknown_columns_is_refused_with_its_columns_and_values(
    spark: Any, tmp_path: Path, name: str, content: str, words: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(AuditError) as raised:
        Audit(spark, [str(tmp_path / name)], tmp_path / "out").make()
    text = str(raised.value)
    assert name in text and words in text
    assert ("ready mappings" if name == "app.log" else "An audit needs ts (instant), kind") in text


def test_a_mapping_that_finds_nothing_names_what_is_there(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps({"when": 17, "id": 7}) + "\n")
    mapping = mapping_of("format: 1\ncolumns: {ts: at, kind: op, message_id: id}\n", "m.yaml")
    with pytest.raises(AuditError, match=r"its columns are when \(17\), id \(7\)"):
        Audit(spark, [str(tmp_path / "log.jsonl")], tmp_path / "out", mapping).make()
    pattern = mapping_of(ready_text("emqx-trace"), "emqx-trace")
    with pytest.raises(AuditError, match="none of the 1 lines matches the pattern.* first line of .*when"):
        Audit(spark, [str(tmp_path / "log.jsonl")], tmp_path / "out", pattern).make()
