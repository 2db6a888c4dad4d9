"""Spans of Pulsar's own Java client (PIP-446) and of OpenTelemetry's Java agent, whose message ids are positions.

The shapes are those of `TracingContext`, `OpenTelemetryConsumerInterceptor` and `MessageIdImpl` in apache/pulsar,
and of `PulsarClientTest` in opentelemetry-java-instrumentation.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spark_reports.audit.job import Audit

START_NS = 1_746_100_539_000_000_000
ACK = {"messaging.pulsar.acknowledgment.type": "acknowledge"}


def trace(number: int) -> str:
    return f"{number + 1:032x}"


def producer(number: int) -> str:
    """The id of the producer's span of a message."""
    return f"{number + 0x1000:016x}"


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


class Spans:
    """Lines of OTLP/JSON; every span has an id of its own."""

    def __init__(self, system: str = "pulsar") -> None:
        self.lines: list[str] = []
        self.system = system

    def add(
        self,
        region: str,
        at_ms: int,
        trace_id: str = "",
        parent: str = "",
        span_id: str = "",
        links: list[dict[str, Any]] | None = None,
        end_ms: int = 20,
        **values: str,
    ) -> None:
        own = {"messaging.system": self.system}
        own |= {"messaging." + name.replace("__", "."): value for name, value in values.items()}
        number = len(self.lines)
        span = {
            "traceId": trace_id or f"{0xABC0000 + number:032x}",
            "spanId": span_id or f"{0xF0000 + number:016x}",
            "parentSpanId": parent,
            "kind": 5,
            "startTimeUnixNano": str(START_NS + at_ms * 1_000_000),
            "endTimeUnixNano": str(START_NS + (at_ms + end_ms) * 1_000_000),
            "attributes": attributes(own),
            "links": links or [],
        }
        resource = {"attributes": attributes({"cloud.region": region})}
        scope = {"resource": resource, "scopeSpans": [{"spans": [span]}]}
        self.lines.append(json.dumps({"resourceSpans": [scope]}))

    def native(self, region: str, topic: str, number: int, at_ms: int, **more: Any) -> None:
        """A span of Pulsar's own client, whose parent is the producer's span."""
        more = {"trace_id": trace(number), "parent": producer(number), **more}
        place = f"1234:{56 + number}:3" if region == "a" else f"192:{7 + number}:3:0"
        self.add(
            region,
            at_ms,
            destination__name=topic,
            destination__subscription__name="billing",
            **{"operation__name": "process", "message__id": place, **more},
        )


def link(number: int, **values: str) -> dict[str, Any]:
    own = attributes({"messaging." + name.replace("__", "."): value for name, value in values.items()})
    return {"traceId": trace(number), "spanId": producer(number), "attributes": own}


def audited(spark: Any, folder: Path, *files: list[str]) -> dict[str, Any]:
    (folder / "logs").mkdir()
    for number, lines in enumerate(files):
        (folder / "logs" / f"spans-{number}.jsonl").write_text("\n".join(lines) + "\n")
    return Audit(spark, [str(folder / "logs")], folder / "out").make()


def of_client(spans: Spans, topic: str) -> None:
    """a receives 0 to 3 and acks 0 to 2; b receives 2 to 5. 1 was negatively acknowledged first."""
    for number in range(6):
        ids = {"trace_id": trace(number), "span_id": producer(number), "parent": "00000000000000aa"}
        named = {
            "destination__name": topic,
            "operation__name": "send",
            "message__id": f"1234:{56 + number}:3",
        }
        spans.add("a", number, **ids, **named)
    spans.native("a", topic, 0, 100, pulsar__acknowledgment__type="cumulative_acknowledge")
    spans.native("a", topic, 1, 110, pulsar__acknowledgment__type="negative_acknowledge")
    spans.native("a", topic, 1, 120, pulsar__acknowledgment__type="acknowledge")
    spans.native("a", topic, 2, 130, pulsar__acknowledgment__type="acknowledge")
    spans.native("a", topic, 3, 140, pulsar__acknowledgment__type="ack_timeout")
    for number in range(2, 6):
        spans.native("b", topic, number, 5000 + number, pulsar__acknowledgment__type="acknowledge")


def of_agent(spans: Spans, topic: str) -> None:
    """The agent: a receives 0 to 3 in one batch, b one by one, 2 to 5, with a link and an unrelated parent."""
    common = {"destination__name": topic, "destination__subscription__name": "billing"}
    receive = {"operation__name": "receive", "operation__type": "receive"}
    batch = [link(number + 100, message__id=f"1234:{56 + number}:-1") for number in range(4)]
    spans.add("a", 100, links=batch, parent="00000000000000bb", **common, **receive)
    for number in range(2, 6):
        place, one = f"192:{7 + number}:-1", link(number + 100)
        spans.add("b", 5000, links=[one], message__id=place, parent="00000000000000cc", **common, **receive)


def of_old_agent(spans: Spans, topic: str) -> None:
    """Before the stable conventions: `messaging.operation`, no subscription, links without attributes."""
    common = {"destination__name": topic, "operation": "receive"}
    spans.add("a", 100, links=[link(200), link(201)], **common)
    spans.add("b", 5000, links=[link(201), link(202)], **common)


def of_exporter(topic: str) -> list[str]:
    """Flat spans as the console exporter prints them: ids with 0x, inside `context`."""
    rows = []
    for region, number, at in (("a", 0, "11:55:39.1"), ("b", 0, "11:55:44.0"), ("b", 1, "11:55:44.1")):
        rows.append(
            {
                "context": {
                    "trace_id": f"0x{trace(number + 300)}",
                    "span_id": f"0x{0xE000 + len(rows):016x}",
                },
                "parent_id": f"0x{producer(number + 300)}",
                "start_time": f"2025-05-01T{at}00000Z",
                "end_time": f"2025-05-01T{at}50000Z",
                "attributes": {
                    "messaging.system": "pulsar",
                    "messaging.operation.name": "process",
                    "messaging.message.id": f"({number + 1},7,-1,-1)"
                    if region == "a"
                    else f"(9,{number},-1,-1)",
                    "messaging.destination.name": topic,
                    "cloud.region": region,
                    **ACK,
                },
                "resource": {},
            }
        )
    return [json.dumps(row) for row in rows]


@pytest.fixture(scope="module")
def report(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One audit of all shapes, each in a topic of its own."""
    spans = Spans()
    for topic, write in (("client", of_client), ("agent", of_agent), ("old-agent", of_old_agent)):
        write(spans, topic)
    return audited(spark, tmp_path_factory.mktemp("spans"), spans.lines, of_exporter("exporter"))


def figures(report: dict[str, Any], topic: str, *names: str) -> tuple[Any, ...]:
    [found] = [one for one in report["groups"] if one["topic"] == topic]
    return tuple(found[name] for name in names)


def test_spans_of_the_own_client_are_deliveries_and_acks(report: dict[str, Any]) -> None:
    names = ("subscription", "deliveries", "messages", "in_several_clusters", "in_one_cluster", "duplicates")
    # 2 and 3 reached b again; 2 had been acked. 1 came twice in a, its first span ended with a negative ack.
    assert figures(report, "client", *names) == ("billing", 9, 6, 2, 1, 1)
    kinds = report["rows"]["by_kind"]
    assert kinds["publish"] == 6 and kinds["ack"] == 3 + 4 + 3


def test_an_ack_is_at_the_end_of_its_span(report: dict[str, Any]) -> None:
    [times] = [
        one for one in report["processing"] if (one["subscription"], one["cluster"]) == ("billing", "b")
    ]
    assert (times["p50_us"], times["most_us"]) == (20_000, 20_000)


def test_publishes_are_found_by_their_own_span(report: dict[str, Any]) -> None:
    times = {(one["from"], one["to"]): one["messages"] for one in report["latencies"]}
    assert times == {("a", "a"): 4, ("a", "b"): 2}


def test_links_of_the_agent_identify_messages(report: dict[str, Any]) -> None:
    names = ("deliveries", "messages", "in_several_clusters")
    assert figures(report, "agent", *names) == (8, 6, 2)
    assert figures(report, "old-agent", *names) == (4, 3, 1)


def test_ids_of_the_console_exporter_are_read(report: dict[str, Any]) -> None:
    assert figures(report, "exporter", "deliveries", "messages", "in_several_clusters") == (3, 2, 1)
    assert {"positions_per_cluster", "contexts_not_shared"}.isdisjoint(
        one["code"] for one in report["findings"]
    )


def codes(report: dict[str, Any]) -> dict[str, int]:
    return {one["code"]: one["count"] for one in report["findings"]}


def test_a_span_around_several_messages_identifies_none_of_them(spark: Any, tmp_path: Path) -> None:
    """The parent is the consumer's loop, or absent: only positions are left, which differ per cluster."""
    spans = Spans()
    for region in "ab":
        for number in range(3):
            loop = {"trace_id": trace(900), "parent": producer(900)}
            spans.native(region, "loop", number, 100 * (region == "b") + number, **loop)
            root = {"trace_id": f"{0xBEE0 + number + 10 * (region == 'b'):032x}", "parent": ""}
            spans.native(region, "none", number, 100 * (region == "b") + number, **root)
    report = audited(spark, tmp_path, spans.lines)
    names = ("deliveries", "messages", "in_several_clusters")
    assert figures(report, "loop", *names) == figures(report, "none", *names) == (6, 6, 0)
    assert codes(report)["positions_per_cluster"] == 12
    assert "25749" in next(
        one["text"] for one in report["findings"] if one["code"] == "positions_per_cluster"
    )


def test_a_producers_retry_does_not_void_the_contexts_of_its_topic(spark: Any, tmp_path: Path) -> None:
    """One of 150 messages was stored twice: two positions with one context."""
    spans = Spans()
    for number in range(150):
        spans.native("a", "t", number, number)
    spans.native("a", "t", 7, 300, message__id="1234:999:3")
    spans.native("b", "t", 149, 5000)
    report = audited(spark, tmp_path, spans.lines)
    names = ("messages", "in_several_clusters", "in_one_cluster")
    assert figures(report, "t", *names) == (150, 1, 1)


def test_contexts_that_connect_nothing_are_a_finding(spark: Any, tmp_path: Path) -> None:
    """Each delivery has a parent of its own, made at the consumer."""
    spans = Spans()
    for region in "ab":
        for number in range(3):
            own = number + 500 * (region == "b")
            spans.native(region, "t", number, own, trace_id=trace(own), parent=producer(own))
    report = audited(spark, tmp_path, spans.lines)
    assert figures(report, "t", "deliveries", "in_several_clusters") == (6, 0)
    assert codes(report)["contexts_not_shared"] == 6


def test_ids_of_other_systems_and_own_ids_stay_the_messages_id(spark: Any, tmp_path: Path) -> None:
    spans, kafka = Spans(), Spans("kafka")
    for region in "ab":
        spans.native(region, "own", 0, 0, message__id="order-7", trace_id="", parent="")
        kafka.native(region, "kafka", 0, 0, message__id="12:3:4", trace_id="", parent="")
    report = audited(spark, tmp_path, spans.lines, kafka.lines)
    assert figures(report, "own", "in_several_clusters") == (1,)
    assert figures(report, "kafka", "in_several_clusters") == (1,)
