"""Audits of OpenTelemetry spans, Kafka's verifiable tools, and topics stats-internal of two clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from simulator import World
from spark_reports.audit.detect import SPANS, STATS_INTERNAL, VERIFIABLE, format_of_lines
from spark_reports.audit.errors import AuditError
from spark_reports.audit.formats.statistics import figures_of, positions, topics_of
from spark_reports.audit.generate.logs import Log, run_log
from spark_reports.audit.generate.writing import WRITERS
from spark_reports.audit.inputs import list_files
from spark_reports.audit.job import Audit
from spark_reports.audit.mapping import Mapping, mapping_of
from spark_reports.audit.readers import read

START_MS = 1_700_000_000_000


def attributes(**values: Any) -> list[dict[str, Any]]:
    """Attributes as OTLP/JSON writes them: integers are strings. `__` in a name is a dot."""
    return [
        {
            "key": name.replace("__", "."),
            "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value},
        }
        for name, value in values.items()
    ]


def exported(cluster: str, *spans: dict[str, Any]) -> str:
    resource = {"attributes": attributes(cloud__region=cluster)}
    return json.dumps(
        {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}
    )


def span(after_ms: int, links: list[list[dict[str, Any]]] | None = None, **values: Any) -> dict[str, Any]:
    """A span of a topic with the attributes, and one link for each list of attributes."""
    values = {"messaging__system": "kafka", "messaging__destination__name": "orders", **values}
    return {
        "traceId": "0af7651916cd43dd8448eb211c80319c",
        "spanId": "b7ad6b7169203331",
        "startTimeUnixNano": str((START_MS + after_ms) * 1_000_000),
        "attributes": attributes(**values),
        "links": [{"traceId": "0", "spanId": "0", "attributes": one} for one in links or []],
    }


def ids(*names: str) -> list[list[dict[str, Any]]]:
    return [attributes(messaging__message__id=name) for name in names]


NEW = {"messaging__consumer__group__name": "billing", "messaging__destination__partition__id": "3"}
OLD = {"messaging__kafka__consumer__group": "billing", "messaging__kafka__destination__partition": 3}


def write_spans(folder: Path) -> None:
    """Messages a to e: b and c are duplicates, d is redelivered; a `receive` beside a `process` is the same delivery."""
    (folder / "west.otlp.json").write_text(
        "\n".join(
            [
                exported(
                    "us-west",
                    *(
                        span(n, messaging__operation__type="send", messaging__message__id=name)
                        for n, name in enumerate("abcde")
                    ),
                ),
                exported(
                    "us-west", span(40, ids("a", "b", "c"), messaging__operation__type="receive", **NEW)
                ),
                exported(
                    "us-west", span(50, ids("a", "b", "c"), messaging__operation__type="process", **NEW)
                ),
                exported(
                    "us-west",
                    span(
                        60,
                        messaging__operation__type="settle",
                        messaging__operation__name="ack",
                        messaging__message__id="a",
                        **NEW,
                    ),
                ),
                exported(
                    "us-west",
                    span(
                        61,
                        messaging__operation__type="settle",
                        messaging__operation__name="nack",
                        messaging__message__id="b",
                        **NEW,
                    ),
                ),
                exported("us-west", span(70, ids("b", "c"), messaging__operation="process", **OLD)),
                exported("us-west", {**span(75), "attributes": attributes(http__route="/")}),
                "not a span",
            ]
        )
        + "\n"
    )
    flat = {
        "traceId": "0",
        "spanId": "1",
        "attributes": {"messaging.operation": "process", "messaging.destination.name": "orders"},
    }
    own = {
        "messaging.kafka.consumer.group": "billing",
        "messaging.kafka.destination.partition": 3,
        "cloud.region": "us-east",
    }
    lines = []
    for after_ms, name in ((5000, "b"), (5001, "c"), (5002, "d"), (9000, "d")):
        line = {**flat, "start_time": f"2023-11-14T22:13:{20 + after_ms // 1000}.{after_ms % 1000:03}Z"}
        line["attributes"] = {**flat["attributes"], **own, "messaging.message.id": name}
        lines.append(json.dumps(line))
    (folder / "east.spans.jsonl").write_text("\n".join(lines) + "\n")


def verifiable(name: str, after_ms: int, **values: Any) -> str:
    return json.dumps({"timestamp": START_MS + after_ms, "name": name, **values})


def write_verifiable(folder: Path) -> None:
    """A consumer without --verbose: offsets 0 to 9, committed up to 5, then 4 to 9 after a rebalance."""
    place = {"topic": "test", "partition": 0}
    (folder / "producer.log").write_text(
        "\n".join(
            verifiable("producer_send_success", n, **place, key=None, value=f"0.{n}", offset=n)
            for n in range(12)
        )
        + "\n"
    )
    consumed = [{**place, "count": 10, "minOffset": 0, "maxOffset": 9}]
    again = [{**place, "count": 6, "minOffset": 4, "maxOffset": 9}]
    (folder / "consumer-1.log").write_text(
        "\n".join(
            [
                "[2023-11-14 22:13:20] INFO starting",
                verifiable("startup_complete", 0),
                verifiable("records_consumed", 100, count=10, partitions=consumed),
                verifiable("offsets_committed", 150, offsets=[{**place, "offset": 5}], success=True),
                verifiable(
                    "offsets_committed",
                    160,
                    offsets=[{**place, "offset": 9}],
                    success=False,
                    error="rebalance",
                ),
                verifiable("records_consumed", 200, count=6, partitions=again),
                verifiable("offsets_committed", 250, offsets=[{**place, "offset": 10}], success=True),
            ]
        )
        + "\n"
    )


@pytest.fixture(scope="module")
def log() -> Log:
    return run_log(1200, seed=3)


@pytest.fixture(scope="module")
def report(spark: Any, log: Log, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One audit of spans, written by hand and generated, and of verifiable tools, in two directories."""
    folder = tmp_path_factory.mktemp("formats")
    for name, write in (("spans", write_spans), ("kafka", write_verifiable)):
        (folder / name).mkdir()
        write(folder / name)
    WRITERS["spans"](folder / "spans" / "generated.otlp.json", log, range(1))
    return Audit(spark, [str(folder / "spans"), str(folder / "kafka")], folder / "out").make()


def group(report: dict[str, Any], topic: str, partition: str) -> dict[str, Any]:
    return next(one for one in report["groups"] if (one["topic"], one["partition"]) == (topic, partition))


def test_spans_of_both_shapes_and_ages_are_deliveries(report: dict[str, Any], log: Log) -> None:
    assert report["input"]["formats"] == {"spans": 3, "verifiable": 2}
    got = group(report, "orders", "3")
    assert (got["subscription"], got["partition"]) == ("billing", "3")
    # process of a, b and c; b and c again with old names; b, c, d and d in us-east; receive is not counted again
    assert (got["deliveries"], got["messages"], got["repeated_rows"]) == (9, 4, 0)
    assert (got["in_several_clusters"], got["in_one_cluster"], got["extra_deliveries"]) == (2, 1, 5)
    assert got["duplicates"] == 0 and got["gap_most"] == 3_998_000
    kinds = report["rows"]["by_kind"]
    assert kinds["publish"] == 5 + 12 + log.columns["kind"].count("publish") and report["unreadable"][
        "reasons"
    ] == {"it is no span": 1}


def test_generated_spans_have_their_truth(report: dict[str, Any], log: Log) -> None:
    got = group(report, "orders", "0")
    assert {name: got[name] for name in log.truth["figures"]} == log.truth["figures"]


def test_sampled_spans_never_prove_a_loss(report: dict[str, Any]) -> None:
    losses = {one["topic"]: one for one in report["losses"]}
    assert losses["orders"]["lost"] is None and "the log is sampled" in losses["orders"]["unknown_because"]


def test_ranges_of_a_verifiable_consumer_are_deliveries_by_offset(report: dict[str, Any]) -> None:
    got = group(report, "test", "0")
    assert (got["deliveries"], got["messages"], got["extra_deliveries"]) == (16, 10, 6)
    assert got["cluster_unknown"] == 6 and got["in_several_clusters"] == got["in_one_cluster"] == 0
    # Only offset 4 was committed at 150 ms, before it was read again at 200 ms.
    assert (got["duplicates"], got["extra_after_ack"]) == (1, 1)
    assert {one["code"] for one in report["findings"]} >= {"no_cluster", "no_subscription"}
    assert next(one for one in report["losses"] if one["topic"] == "test")["after"] == 2


def test_records_of_a_verbose_consumer_are_identified_by_value(spark: Any, tmp_path: Path) -> None:
    """The same message has another offset in the other cluster; its range is not counted as well."""
    for cluster, offset in (("west", 5), ("east", 105)):
        one = {"topic": "t", "partition": 0, "count": 1, "minOffset": offset, "maxOffset": offset}
        lines = [
            verifiable("record_data", offset, topic="t", partition=0, key=None, value="7.1", offset=offset),
            verifiable("records_consumed", offset, count=1, partitions=[one]),
        ]
        (tmp_path / cluster).mkdir()
        (tmp_path / cluster / "consumer.log").write_text("\n".join(lines) + "\n")
    mapping = mapping_of(
        "format: 1\nconstants: {subscription: billing}\nfrom_path: {cluster: '/(east|west)/'}\n", "m.yaml"
    )
    files = {VERIFIABLE: list_files(spark, [str(tmp_path)])}
    names = ("kind", "cluster", "subscription", "partition", "key", "scope", "problem")
    rows = read(spark, files, mapping, 1).select(*names).collect()
    assert sorted(tuple(row) for row in rows) == [
        ("deliver", cluster, "billing", "0", "7.1", None, None) for cluster in ("east", "west")
    ]


def statistics_of(world: World, cluster: str) -> str:
    return world.admin("stats-internal", cluster)["text"]


def test_positions_of_the_lab_bound_the_duplicates_of_its_failover(spark: Any, tmp_path: Path) -> None:
    """The lab prints stats-internal as its brokers would; then it fails over and counts."""
    world = World.open("region-down")
    world.run(until_us=5_650_000)
    for cluster in ("us-west", "us-east"):
        (tmp_path / f"{cluster}.json").write_text(statistics_of(world, cluster))
    report = Audit(spark, [str(tmp_path)], tmp_path / "out").make()
    pair = next(one for one in report["positions"] if (one["from"], one["to"]) == ("us-west", "us-east"))
    assert pair["source"]["replicated"] and pair["subscription"] == "billing"
    world.run()
    duplicates = world.summary()["failovers"][0]["duplicates"]
    assert duplicates == 7 <= pair["repeated_most"] < 40
    assert "at most" in (tmp_path / "out" / "audit.html").read_text()


STATISTICS = {
    "entriesAddedCounter": 30,
    "currentLedgerEntries": 20,
    "lastConfirmedEntry": "12:19",
    "ledgers": [{"ledgerId": 10, "entries": 10}, {"ledgerId": 12, "entries": 0}],
    "cursors": {
        "billing": {
            "markDeletePosition": "10:6",
            "individuallyDeletedMessages": "[(10:7..12:1],(12:3‥12:9]]",
            "properties": {"pulsar.replicated.subscription": 1},
        },
        "pulsar.repl.east": {"markDeletePosition": "12:16", "individuallyDeletedMessages": "[]"},
    },
}


def test_ack_holes_and_backlogs_are_counted_in_entries_over_ledgers() -> None:
    other = {
        **STATISTICS,
        "cursors": {"billing": {"markDeletePosition": "10:1", "individuallyDeletedMessages": "[]"}},
    }
    west = topics_of(json.dumps(STATISTICS), "west.json", Mapping())[0]
    east = topics_of(json.dumps(other), "logs/east.stats.json", Mapping())[0]
    # After 10:6: 3 + 20 entries. Deleted: 10:8, 10:9, 12:0, 12:1 and 12:4 to 12:9.
    assert figures_of(west, west.cursors["billing"]) == {
        "mark_delete": "10:6",
        "after_mark_delete": 23,
        "individually_deleted": 10,
        "ack_holes": 2,
        "backlog": 13,
        "incomplete": "",
        "replicated": True,
    }
    pair, back = positions([west, east])[1], positions([west, east])[0]
    assert (pair["from"], pair["to"], pair["not_replicated"], pair["behind"]) == ("west", "east", 3, 5)
    # 28 entries in east are not acknowledged there; of the 13 unread in west, 10 are in east too.
    assert (pair["repeated_most"], pair["ack_holes_most"]) == (18, 10)
    assert (back["not_replicated"], back["repeated_most"]) == (None, 13)


def test_statistics_that_are_none_or_alone_are_refused(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="no output of stats-internal"):
        topics_of('{"ledgers": 3, "cursors": {}}', "x.json", Mapping())
    (tmp_path / "west.json").write_text(json.dumps(STATISTICS, indent=2))
    with pytest.raises(AuditError, match="one cluster only"):
        Audit(spark, [str(tmp_path)], tmp_path / "out").make()


def test_formats_are_recognised_by_their_first_lines() -> None:
    pretty = json.dumps(STATISTICS, indent=2).splitlines()
    assert format_of_lines(pretty, Mapping()) == STATS_INTERNAL
    assert format_of_lines(["noise", verifiable("startup_complete", 0)], Mapping()) == VERIFIABLE
    assert format_of_lines(['{"span_id": "1", "attributes": {}}'], Mapping()) == SPANS
    assert format_of_lines([exported("a")], Mapping()) == SPANS
    assert format_of_lines(['{"name": "an event", "timestamp": 1}', "text"], Mapping()) is None
