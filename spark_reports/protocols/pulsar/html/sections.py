"""The sections of a failover's article: each a heading, a sentence, and a table or a row of squares.

Rules: an empty section is left out. Numbers are the report's values, nothing is counted here.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from simulator import enough_until_us
from spark_reports.html.numbers import message_name, number, plural, position, seconds, size, span
from spark_reports.html.sections import (
    NOTHING,
    bold,
    harm_cell,
    message,
    messages,
    render,
    section,
    squares,
    squares_say,
    table,
)
from spark_reports.protocols.pulsar.html.words import (
    cause_heading,
    cause_in_sentence,
    cause_meaning,
    event_words,
)

TEMPLATES = "protocols/pulsar/html/templates"
SNAPSHOT_TOTALS = ("asked", "completed", "timed_out", "abandoned", "evicted")
FIGURE = ("value", "unit", "words", "kind")


def headline(run: dict[str, Any], failover: dict[str, Any], alone: bool) -> Markup:
    """The headline, which the sections below explain."""
    failed = failover["source_ended_us"] < failover["at_us"] or failover["mode"] in ("crash", "auto")
    enough_us = enough_until_us(failover, run["until_us"]) if failover["pending_repeats"] else None
    return render(
        f"{TEMPLATES}/headline.html", run=run, one=failover, alone=alone, failed=failed, enough_us=enough_us
    )


def lower_bound(failover: dict[str, Any], name: str) -> str:
    """A figure of a failover; "at least" where it may rise, because the run ends during its deliveries."""
    rises = failover["pending_repeats"] and (name == "duplicates" or failover[name])
    return f"{'at least ' if rises else ''}{number(failover[name])}"


def figures(run: dict[str, Any], failover: dict[str, Any]) -> Markup:
    """The six main figures of a failover."""
    not_replicated = (
        f"not replicated at the move, {number(failover['stranded_missing'])} unread did not arrive by the end"
        if failover["stranded"]
        else "not replicated"
    )
    shown = [
        (lower_bound(failover, "duplicates"), "", "duplicates", "harm" if failover["duplicates"] else "zero"),
        (
            lower_bound(failover, "redeliveries"),
            "",
            "redelivered",
            "" if failover["redeliveries"] else "zero",
        ),
        (
            number(failover["stranded"]),
            "",
            not_replicated,
            "harm" if failover["stranded_missing"] else "zero",
        ),
        (number(failover["lost"]), "", "lost", "harm" if failover["lost"] else "zero"),
        (*_span_figure(failover["outage_us"]), "delivery gap", ""),
        (*_drained_figure(run, failover), ""),
    ]
    return render(
        f"{TEMPLATES}/figures.html",
        figures=[dict(zip(FIGURE, one, strict=True)) for one in shown],
        also=_also(failover),
        duplicates=failover["duplicates"],
        window=failover["dedup_window"],
    )


def _drained_figure(run: dict[str, Any], failover: dict[str, Any]) -> tuple[str, str, str]:
    """How long after the failover its backlog was acked: value, unit, words."""
    if failover["drained_us"] is None:
        if failover["pending_repeats"] is None:
            return "–", "", "backlog of the failover not acked before the next failover"
        return (
            "–",
            "",
            f"backlog of the failover not acked within {span(run['until_us'] - failover['at_us'])}",
        )
    return (
        *_span_figure(failover["drained_us"] - failover["at_us"]),
        f"until the backlog of the failover was acked, at {seconds(failover['drained_us'])} s",
    )


def _span_figure(us: int | None) -> tuple[str, str]:
    """A span as a large number and its unit."""
    if us is None:
        return "–", ""
    return (f"{us / 1000:.0f}", "ms") if us < 1_000_000 else (f"{us / 1_000_000:.2f}", "s")


def _also(failover: dict[str, Any]) -> str:
    """A sentence about figures beside the six, as far as they are not 0."""
    found = [
        (
            plural(failover["extra_deliveries"], "extra delivery", "extra deliveries"),
            failover["extra_deliveries"],
        )
    ]
    found += [
        (f"{number(failover[name])} {name}", failover[name]) for name in ("reordered", "expired", "skipped")
    ]
    found += [
        (
            f"{number(failover['stranded_returned'])} not replicated at first reached {failover['to']} later",
            failover["stranded_returned"],
        )
    ]
    happened = ", ".join(words for words, count in found if count)
    return f"Also {happened}." if happened else "No extra deliveries, none reordered, expired or skipped."


def causes(run: dict[str, Any], failover: dict[str, Any]) -> Markup:
    """The section of causes: one row of squares per cause, with an example."""
    if not failover["duplicates"]:
        return NOTHING
    by_count = sorted(failover["by_cause"].items(), key=lambda pair: -pair[1])
    return render(
        f"{TEMPLATES}/causes.html",
        says=squares_say(failover["by_cause"].values(), "message")
        + " Each duplicate has exactly one cause, so the causes add up to the total.",
        causes=[_cause(run, failover, name, count) for name, count in by_count if count],
        absent=[
            cause_in_sentence(name, failover) for name, count in failover["by_cause"].items() if not count
        ],
        to=failover["to"],
    )


def _cause(run: dict[str, Any], failover: dict[str, Any], name: str, count: int) -> dict[str, Any]:
    example = failover["examples"].get(name)
    x = example["x"] if example else failover["from"]
    heading, says = cause_heading(name, failover, x), cause_meaning(name, failover, x)
    found = {"count": count, "heading": heading, "says": says, "example": example, "rows": []}
    found["squares"] = squares(failover["by_origin"][name], run["clusters"])
    if example:
        evidence = example.get("evidence")
        found["name"] = message_name(example["producer"], example["sequence_id"])
        found["deciding"] = event_words(evidence) if evidence else None
        rows = [
            ("acknowledged", example["ack_seq"]),
            ("delivered", example["seq"]),
            ("deciding event", example.get("evidence_seq")),
        ]
        found["rows"] = [(role, seq) for role, seq in rows if seq is not None]
    return found


def losses(failover: dict[str, Any]) -> Markup:
    """The section of losses by cause. Each loss has one cause."""
    if not failover["lost"]:
        return NOTHING
    rows = [
        [cause_in_sentence(name, failover), harm_cell(number(count))]
        for name, count in failover["lost_by_cause"].items()
        if count
    ]
    says = (
        f"Acknowledged to the producer, not acked by a consumer, and {failover['to']} can no longer deliver them. "
        f"{number(failover['lost_recovered']) if failover['lost_recovered'] else 'None'} of them "
        f"{'was' if failover['lost_recovered'] == 1 else 'were'} delivered after a later failover."
    )
    return section("Causes of the losses", says, table(["cause", "lost"], rows))


def forecast(failover: dict[str, Any]) -> Markup:
    """The section that compares the forecast at the failover with the actual figures."""
    found = failover.get("forecast")
    if not found:
        return NOTHING
    rows = [
        [words, number(found.get(name)), lower_bound(failover, name)]
        for name, words in (("duplicates", "duplicates"), ("lost", "lost"), ("stranded", "not replicated"))
        if name in found
    ]
    says = (
        "The forecast assumes that the source crashes at the instant of the move, nothing more is replicated, "
        "and the consumers start at the target at once."
    )
    return section("Forecast and actual", says, table(["figure", "forecast", "actual"], rows))


def snapshots(run: dict[str, Any], failover: dict[str, Any]) -> Markup:
    """The section of the last snapshots that the source requested before the failover."""
    found = failover.get("snapshots") or []
    if not found:
        return section(f"Snapshots requested by {failover['from']}", "None was requested before the move.")
    target, totals = failover["to"], failover.get("snapshot_totals") or {}
    usable = [entry for entry in found if _known(entry, failover)]
    age = (
        f"No update from a snapshot was applied at {target} before the move"
        if not usable
        else (
            Markup("The newest one applied at {} was {}, requested {} before the move").format(
                target, bold(f"S{usable[-1]['of_region']}"), span(failover["at_us"] - usable[-1]["asked_us"])
            )
        )
    )
    says = Markup(
        "{asked} requested in the whole run, {completed} completed after {span} on average, {timed_out} timed "
        "out, {abandoned} abandoned, {evicted} evicted from the cache. {age}. The last {shown}:"
    ).format(
        **{name: bold(number(totals.get(name))) for name in SNAPSHOT_TOTALS},
        span=span(totals.get("taken_us")),
        age=age,
        shown=len(found),
    )
    rows, classes = [], []
    for entry in found:
        complete = (
            span(entry["taken_us"])
            if entry["completed_us"] is not None
            else harm_cell(entry["ended"] or "pending")
        )
        rows.append(
            [
                f"S{entry['of_region']}",
                seconds(entry["asked_us"]),
                complete,
                position(entry["place"]),
                _by_the_end(run, entry["used_us"]),
                _by_the_end(run, entry["evicted_us"]),
                _by_the_end(run, entry["applied_us"]),
            ]
        )
        classes.append("marked" if entry["completed_us"] is not None and not _known(entry, failover) else "")
    head = [
        "snapshot",
        "requested, s",
        "completed after",
        f"position in {failover['from']}",
        "used, s",
        "evicted, s",
        f"applied at {target}, s",
    ]
    return section(f"Snapshots requested by {failover['from']}", says, table(head, rows, classes))


def _known(snapshot: dict[str, Any], failover: dict[str, Any]) -> bool:
    """Whether the target had applied an update of it when the consumers moved."""
    return snapshot["applied_us"] is not None and snapshot["applied_us"] <= failover["at_us"]


def _by_the_end(run: dict[str, Any], at_us: int | None) -> str:
    """An instant as a cell; a run shows only what happened before its end."""
    if at_us is not None:
        return seconds(at_us)
    return Markup('<span class="none">not within {} s</span>').format(seconds(run["until_us"]))


def consumers(failover: dict[str, Any]) -> Markup:
    """The section of the consumers at the source before the move."""
    found = failover.get("consumers") or []
    if not found:
        return NOTHING
    rows = [
        [
            entry["client"] or "?",
            *(number(entry[name]) for name in ("delivered", "acknowledged", "unacked")),
            span(entry["slowest_us"]) if entry["slowest_us"] is not None else "–",
            harm_cell(number(entry["duplicates"])),
        ]
        for entry in found
    ]
    head = [
        "consumer",
        "delivered",
        "acknowledged",
        "unacked at the move",
        "slowest ack",
        "duplicates of its acks",
    ]
    return section(
        f"Per consumer at {failover['from']}",
        "Before the move. Unacked: delivered and not acknowledged by then. Duplicates: messages that it had acknowledged and the target delivered.",
        table(head, rows),
    )


def keys(failover: dict[str, Any]) -> Markup:
    """The section of the keys with the most duplicates and reordered deliveries."""
    found = failover.get("worst_keys") or []
    rows = [
        [
            entry["producer"],
            "–" if entry["key"] is None else str(entry["key"]),
            number(entry["duplicates"]),
            number(entry["reordered"]),
        ]
        for entry in found
    ]
    return (
        section(
            "Keys with the most duplicates",
            "Duplicates and reordered deliveries by producer and key.",
            table(["producer", "key", "duplicates", "reordered"], rows, words=2),
        )
        if rows
        else NOTHING
    )


def stories(failover: dict[str, Any]) -> Markup:
    """The section of a few messages from their publish to the duplicate."""
    chosen = [
        message(story, cause_in_sentence(story["cause"], failover), story["rows"], event_words)
        for story in failover.get("stories") or []
    ]
    return messages("The last duplicate of each of the first keys above. #n is the row of the trace.", chosen)


def _subscription_rows(run: dict[str, Any]) -> list[list[str]]:
    """One row per subscription and cluster, followed by its partitions if there are several."""
    rows = []
    for name, clusters in run["subscriptions"].items():
        for cluster, found in clusters.items():
            counts = [
                number(found[kind])
                for kind in ("delivered", "acknowledged", "repeated", "expired", "skipped")
            ]
            rows.append([name, cluster, *counts])
            if len(found["partitions"]) > 1:
                rows += [
                    [
                        f"\u00a0\u00a0{part}",
                        cluster,
                        *(
                            number(inner[kind])
                            for kind in ("delivered", "acknowledged", "repeated", "expired", "skipped")
                        ),
                    ]
                    for part, inner in found["partitions"].items()
                ]
    return rows


def run_tables(run: dict[str, Any]) -> Markup:
    """The tables of the whole run: subscriptions by cluster and partition, and the cost of markers."""
    rows = _subscription_rows(run)
    parts = []
    if rows:
        parts.append(
            section(
                "Per subscription, cluster and partition",
                "Counts of the whole run; repeated: every further delivery in the same cluster.",
                table(
                    [
                        "subscription",
                        "cluster",
                        "delivered",
                        "acknowledged",
                        "repeated",
                        "expired",
                        "skipped",
                    ],
                    rows,
                    words=2,
                ),
            )
        )
    costs = [
        [
            "" if place and run["markers"][place - 1]["cluster"] == entry["cluster"] else entry["cluster"],
            entry["kind"].replace("_", " "),
            number(entry["entries"]),
            size(entry["size_bytes"]),
        ]
        for place, entry in enumerate(run["markers"])
    ]
    share = run["marker_share"]
    if share["entries"]:
        says = (
            f"Markers are entries of the log: {share['entries']:.1%} of the entries and {share['bytes']:.1%} of "
            f"the bytes of this run."
        )
        parts.append(
            section("Cost of markers", says, table(["log", "kind", "entries", "bytes"], costs, words=2))
        )
    return NOTHING.join(parts)
