"""What an audit found about the log itself: rows it could not read, clocks, units, missing columns.

Rules: a finding says what is in the log and what follows for the figures. `count` is its number of rows,
messages or groups.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from spark_reports.audit.columns import DELIVER, PUBLISH
from spark_reports.html.numbers import plural, span


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: a stable code, its text and its number."""

    code: str
    text: str
    count: int


def of_overview(found: list[dict[str, Any]]) -> list[Finding]:
    """Findings from the rows of `counting.overview`."""
    good = [one for one in found if one["problem"] is None]
    findings = [_mixed_units(good), *_missing(good), _per_cluster(good)]
    return [one for one in findings if one is not None]


def _mixed_units(good: list[dict[str, Any]]) -> Finding | None:
    units: Counter[str] = Counter()
    for one in good:
        units[one["unit"]] += one["rows"]
    if len(units) < 2:
        return None
    (main, _), *others = units.most_common()
    listed = ", ".join(f"{count:,} in {name}" for name, count in units.most_common())
    return Finding(
        "mixed_time_units",
        f"Instants have several units: {listed}. Each was read by its own size; if that is wrong, set "
        f"`time_unit` in the mapping.",
        sum(count for name, count in others if name != main),
    )


def _missing(good: list[dict[str, Any]]) -> list[Finding | None]:
    texts = {
        "cluster": "so for them duplicates of a failover cannot be distinguished from redeliveries",
        "subscription": "so they are counted as one subscription",
        "topic": "so they are counted as one topic",
    }
    findings = []
    for name, effect in texts.items():
        rows = sum(
            one["rows"] for one in good if not one[name] and (one["kind"] == DELIVER or name == "topic")
        )
        findings.append(
            Finding(f"no_{name}", f"{plural(rows, 'row has', 'rows have')} no {name}, {effect}.", rows)
            if rows
            else None
        )
    return findings


def _per_cluster(good: list[dict[str, Any]]) -> Finding | None:
    delivered = [one for one in good if one["kind"] == DELIVER]
    scoped = [one for one in delivered if one["scoped"]]
    if not scoped or len({one["cluster"] for one in delivered}) < 2:
        return None
    rows = sum(one["scoped"] for one in scoped)
    return Finding(
        "positions_per_cluster",
        f"{plural(rows, 'delivery is', 'deliveries are')} identified by a position only, and positions "
        f"differ between "
        f"clusters, so duplicates of a failover are unknown. Map `message_id`, or declare `positions: "
        f"shared` if "
        f"copies keep their positions. Spans of Pulsar need the producer's trace context in the message "
        f"(Java client with apache/pulsar#25749, or OpenTelemetry's agent).",
        rows,
    )


def of_contexts(deliveries: int) -> list[Finding]:
    """The finding that no trace context connects clusters; `deliveries` are identified by one."""
    text = (
        f"{plural(deliveries, 'delivery is', 'deliveries are')} identified by trace context, but no context "
        f"was received in two clusters, and the log has no publishes with the contexts of every cluster. If "
        f"the parent spans are those of the consumers (Pulsar's Java client before apache/pulsar#25749), "
        f"duplicates of a failover are unknown."
    )
    return [Finding("contexts_not_shared", text, deliveries)] if deliveries else []


def absent_kinds(by_kind: dict[str, int], acks: bool) -> list[Finding]:
    """Findings about kinds of rows that are not in the log at all."""
    findings = []
    if not acks:
        findings.append(
            Finding(
                "no_acks",
                "The log has no acknowledgements, so whether a message was acknowledged before it was "
                "delivered again is unknown.",
                0,
            )
        )
    if not by_kind.get(PUBLISH):
        findings.append(Finding("no_publishes", "The log has no publishes, so losses are unknown.", 0))
    return findings


def of_rows(unreadable: int, repeated: int, total: int) -> list[Finding]:
    """Findings about unreadable rows and rows that are in the log more than once."""
    findings = []
    if unreadable:
        text = f"{plural(unreadable, 'row', 'rows')} of {total:,} could not be read and are not counted."
        findings.append(Finding("unreadable", text, unreadable))
    if repeated:
        text = (
            f"{plural(repeated, 'row repeats', 'rows repeat')} another row exactly. They are the same "
            f"delivery, written more "
            f"than once, and are counted once."
        )
        findings.append(Finding("repeated_rows", text, repeated))
    return findings


def of_lines(others: int, rows: int) -> list[Finding]:
    """The finding about lines that the mapping's pattern does not match."""
    lines = plural(others, "line does", "lines do")
    text = (
        f"{lines} not match the pattern of the mapping and are left out; {rows:,} match. If some of them are "
        f"deliveries, the figures are too low."
    )
    return [Finding("other_lines", text, others)] if others else []


def not_counted(losses: bool) -> list[Finding]:
    """The finding that losses were not counted."""
    text = (
        "The log is large and not declared complete, so no loss could be claimed, and publishes without a "
        "delivery were not counted."
    )
    return [Finding("losses_not_counted", text, 0)] if losses else []


def of_clocks(latencies: list[dict[str, Any]]) -> list[Finding]:
    """Findings about deliveries before their publish: the clocks of two clusters differ."""
    least: dict[tuple[str, str], list[int]] = {}
    for one in latencies:
        if one["negative"]:
            known = least.setdefault((one["from"], one["to"]), [0, 0])
            known[0] += one["negative"]
            known[1] = min(known[1], one["least_us"])
    return [
        Finding(
            "clock_skew",
            f"{plural(count, 'message was', 'messages were')} delivered in "
            f"{to or 'a cluster without name'} before "
            f"being published in {source or 'a cluster without name'}, by up to {span(-skew)}: the clocks "
            f"differ by at "
            f"least as much. Gaps and times between these clusters are wrong by that much.",
            count,
        )
        for (source, to), (count, skew) in sorted(least.items())
    ]
