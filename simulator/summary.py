"""The summary of a run up to now, which `simulate --json` prints (docs/counting.md).

Names are only ever added. Each protocol's own sections are in its manifest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from simulator.counting import enough_until_us
from simulator.protocols.table import section_names
from simulator.scenarios.model import Scenario
from simulator.scenarios.settings import own_rule
from simulator.version import ENGINE_VERSION

if TYPE_CHECKING:
    from simulator.protocols.manifest import Manifest
    from simulator.world import World


def summarise(run: World, protocol: Manifest) -> dict[str, Any]:
    """The whole object. The sections of other protocols than the run's are empty."""
    failovers = protocol.failovers(run)
    sections = protocol.sections
    return {
        "scenario": run.scenario.name,
        "seed": run.seed,
        "engine_version": ENGINE_VERSION,
        **({"rule": rule} if (rule := own_rule(run.scenario.options)) else {}),
        "trace_sha256": run.digest(),
        "simulated_us": run.now_us,
        "events": run.seq,
        "failovers": failovers,
        "commands": protocol.commands(run),
        "violations": [asdict(violation) for violation in run.all_violations(failovers)],
        **{name: sections[name](run) if name in sections else {} for name in section_names()},
    }


# --- A run's summary as text for a terminal
#
# Everything in it is in the summary's JSON too.


_FAILOVER_FIGURES = ("duplicates", "redeliveries", "lost", "reordered", "expired", "skipped")
_ALWAYS = ("duplicates", "lost")


def readable_summary(scenario: Scenario, summary: dict[str, Any], broken: list[str] | None) -> str:
    """The summary of one run as text.

    `broken` are the scenario's expectations that were not met; None when the run differs from the file, so
    that they do not apply.
    """
    lines = [
        f"{scenario.title} ({scenario.name}), seed {summary['seed']}",
        (
            f"{seconds(summary['simulated_us'])} simulated, {summary['events']:,} events, trace "
            f"{summary['trace_sha256'][:16]}…"
        ),
        *([f"rule of its own: {summary['rule']}"] if "rule" in summary else []),
        "",
        *_topics(summary),
        *_subscriptions(summary),
        *_brokers(summary),
        *_latencies(summary),
        *_snapshots(summary),
        *_replicators(summary),
    ]
    for failover in summary["failovers"]:
        lines += _failover(failover, summary["simulated_us"])
    for name, group in summary["groups"].items():
        lines += _group(name, group)
    refused = [command for command in summary["commands"] if not command["ok"]]
    lines += [
        (
            f"Refused at {seconds(command['at_us'])}: {command['command']}: {command['error']}; "
            f"{command['hint']} ({command['code']})"
        )
        for command in refused
    ]
    lines += _verdict(summary, scenario, broken)
    return "\n".join(lines) + "\n"


def readable_comparison(
    scenario: Scenario, runs: list[dict[str, Any]], broken: dict[str, list[str]], noun: str = "strategy"
) -> str:
    """Each failover under every strategy or rule (`noun`), then the cost of synchronising.

    `broken` are the expectations not met, by strategy.
    """
    lines = [
        f"{scenario.title} ({scenario.name}), seed {scenario.seed}: the same run under each {noun}",
        "",
    ]
    for number in range(max(len(entry["failovers"]) for entry in runs)):
        found = [entry["failovers"][number] if number < len(entry["failovers"]) else None for entry in runs]
        first = next(one for one in found if one)
        lines.append(
            f"Failover of {first['subscription']} from {first['from']} to {first['to']} "
            f"({first['mode']}) "
            f"at {seconds(first['at_us'])}"
        )
        causes = [name for name in first["by_cause"] if any(one and one["by_cause"][name] for one in found)]
        figures = [
            [name, *(_number(one, name) for one in found)]
            for name in ("duplicates", "redeliveries", "lost", "reordered")
        ]
        split = [_not_replicated(one) if one else None for one in found]
        figures[-1:-1] = [
            [what, *(parts and parts[place][1] for parts in split)]
            for place, (what, _count) in enumerate(_not_replicated(first))
        ]
        figures[1:1] = [[f"  {name}", *(one and one["by_cause"][name] for one in found)] for name in causes]
        if any(still_delivering(one) for one in found):
            rest = [one and one["pending_repeats"] for one in found]
            figures.append(["still to be delivered again", *rest])
        lines += table(("", *(entry[noun] for entry in runs)), figures)
    costs = [[name.replace("_", " "), *(entry["costs"][name] for entry in runs)] for name in runs[0]["costs"]]
    lines += table(("cost", *(entry[noun] for entry in runs)), costs)
    lines += [line for entry in runs for line in _remarks_on(entry, noun, broken)]
    if broken and not any(broken.values()) and scenario.compare:
        lines.append(
            f"All {sum(len(expect) for expect in scenario.compare.values())} expectations of the "
            f"comparison are met."
        )
    return "\n".join(lines) + "\n"


def _remarks_on(entry: dict[str, Any], noun: str, broken: dict[str, list[str]]) -> Iterator[str]:
    """What was refused, violated or not as expected in one run of a comparison."""
    yield from [
        (
            f"Refused under {entry[noun]} at {seconds(one['at_us'])}: {one['command']}: "
            f"{one['error']}; {one['hint']} ({one['code']})"
        )
        for one in entry["commands"]
        if not one["ok"]
    ]
    yield from [
        (f"VIOLATED under {entry[noun]} at {seconds(found['at_us'])}: {found['claim']}: {found['reason']}")
        for found in entry["violations"]
    ]
    yield from [
        f"NOT AS EXPECTED under {entry[noun]}: {sentence}" for sentence in broken.get(entry[noun], ())
    ]


def seconds(at_us: int) -> str:
    return f"{at_us / 1e6:,.3f} s"


def _by_the_end(at_us: int | None, summary: dict[str, Any]) -> str:
    """An instant; a run shows only what happened before its end."""
    return f"not within {seconds(summary['simulated_us'])}" if at_us is None else seconds(at_us)


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Columns as wide as their widest cell: numbers to the right, words to the left."""
    if not rows:
        return []
    cells = [
        [f"{cell:,}" if type(cell) is int else "-" if cell is None else str(cell) for cell in row]
        for row in rows
    ]
    widths = [max(len(line[column]) for line in [list(heads), *cells]) for column in range(len(heads))]
    right = [all(type(row[column]) is int for row in rows) for column in range(len(heads))]

    def line(texts: Sequence[str]) -> str:
        padded = (
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(texts, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip()

    return [line(heads), *(line(row) for row in cells), ""]


def _topics(summary: dict[str, Any]) -> list[str]:
    rows = [
        [
            cluster,
            topic,
            found["last_position"],
            found["entries"],
            found["messages"],
            sum(found["markers"].values()),
        ]
        for cluster, values in summary["clusters"].items()
        for topic, found in values["topics"].items()
    ]
    return table(("cluster", "topic", "last position", "entries", "messages", "markers"), rows)


def _subscriptions(summary: dict[str, Any]) -> list[str]:
    rows = [
        [
            name,
            cluster,
            found["mark_delete"],
            _short(found["individually_deleted"]),
            found["delivered"],
            found["acknowledged"],
            found["repeated"],
            found["backlog"],
        ]
        for name, clusters in summary["subscriptions"].items()
        for cluster, found in clusters.items()
    ]
    return table(
        (
            "subscription",
            "cluster",
            "mark-delete",
            "individually deleted",
            "delivered",
            "acknowledged",
            "repeated",
            "backlog",
        ),
        rows,
    )


def _brokers(summary: dict[str, Any]) -> list[str]:
    rows = [
        [
            name,
            ", ".join(found["topics"]),
            found["dispatches"],
            f"{found['busy_millionths'] / 10_000:.1f} %",
            f"{found['bytes_out_per_s_max'] / 1e6:,.3f}",
            found["queued"],
            seconds(found["queued_us_max"]),
        ]
        for name, found in summary["brokers"].items()
    ]
    return table(("broker", "topics", "dispatches", "busy", "MB/s at most", "queued", "longest queue"), rows)


def _replicators(summary: dict[str, Any]) -> list[str]:
    """The replicators that do not replicate at the end, with the reason."""
    rows = [
        [
            f"{source} -> {target}",
            topic,
            one["state"],
            one["replication_backlog"],
            one["delay_s"],
            one["retries"],
            one["last_error"],
        ]
        for source, targets in summary["replicators"].items()
        for target, topics in targets.items()
        for topic, one in topics.items()
        if one["last_error"]
    ]
    return table(("does not replicate", "topic", "state", "backlog", "delay s", "retries", "because"), rows)


def _latencies(summary: dict[str, Any]) -> list[str]:
    """Delivery latency of audiences, and of subscriptions on declared brokers."""
    found: list[tuple[str, str | None, str | None, dict[str, Any]]] = [
        (
            name,
            f"{one['connected']:,} of {one['subscriptions']:,}",
            _by_the_end(one["connect_us"], summary),
            one["latency"],
        )
        for name, one in summary["audiences"].items()
    ]
    found += [
        (name, None, None, one) for name, clusters in summary["latency"].items() for one in clusters.values()
    ]
    rows = [
        [
            name,
            connected,
            after,
            one["delivered"],
            *(
                None if one[key] is None else f"{one[key] / 1e6:,.6f}"
                for key in ("mean_us", "p50_us", "p99_us", "max_us")
            ),
        ]
        for name, connected, after, one in found
    ]
    return table(
        ("latency of", "connected", "all after", "delivered", "mean, s", "p50", "p99", "greatest"), rows
    )


def _short(text: str | None) -> str:
    return "-" if text is None else text if len(text) <= 40 else f"{text[:39]}…"


def _snapshots(summary: dict[str, Any]) -> list[str]:
    rows = [
        [cluster, *(found[name] for name in ("requested", "completed", "timed_out", "pending"))]
        for cluster, found in summary["snapshots"].items()
    ]
    return table(("snapshots of", "requested", "completed", "timed out", "pending"), rows)


def _not_replicated(failover: dict[str, Any]) -> list[tuple[str, int]]:
    """The two parts of a failover's `stranded`: already processed and unread, each with its label."""
    unread = failover["stranded_unprocessed"]
    return [
        ("not replicated (already processed)", failover["stranded"] - unread),
        ("not replicated (unread)", unread),
    ]


def still_delivering(failover: dict[str, Any] | None) -> bool:
    """Whether the numbers of a failover or group are lower bounds, because the run ended too early."""
    return bool(failover and failover["pending_repeats"])


def _number(failover: dict[str, Any] | None, name: str) -> Any:
    """A figure of a failover as a cell of a table: "at least 554" where it may rise."""
    return failover and (_lower_bound(failover, name) if still_delivering(failover) else failover[name])


def _lower_bound(failover: dict[str, Any], name: str) -> str:
    """A figure of a failover that still delivers. Without any redelivery so far none may follow."""
    rises = name == "duplicates" or (name == "redeliveries" and failover[name])
    return f"{'at least ' if rises else ''}{failover[name]:,}"


def _failover(failover: dict[str, Any], end_us: int) -> Iterator[str]:
    yield (
        f"Failover of {failover['subscription']} from {failover['from']} to {failover['to']} "
        f"({failover['mode']}) at {seconds(failover['at_us'])}"
    )
    figures = [
        f"{_lower_bound(failover, name) if still_delivering(failover) else f'{failover[name]:,}'} {name}"
        for name in _FAILOVER_FIGURES
        if failover[name] or name in _ALWAYS
    ]
    if still_delivering(failover):
        figures.append("still delivering at the end")
    figures += [
        f"{count:,} {'message' if count == 1 else 'messages'} {what}"
        for what, count in _not_replicated(failover)
        if count
    ]
    yield f"  {', '.join(figures)}"
    for title, causes in (("duplicates", failover["by_cause"]), ("lost", failover["lost_by_cause"])):
        shown = ", ".join(f"{count:,} {cause}" for cause, count in causes.items() if count)
        if shown:
            yield f"  {title} by cause: {shown}"
    outage = (
        "nothing delivered there"
        if failover["outage_us"] is None
        else f"outage {seconds(failover['outage_us'])}"
    )
    yield f"  {outage}, backlog of the failover acked: {_drained(failover, end_us)}"
    if still_delivering(failover):
        rest, enough_s = failover["pending_repeats"], enough_until_us(failover, end_us) // 1_000_000
        yield (
            f"  the run ends too early: {rest:,} {'message' if rest == 1 else 'messages'} handled before "
            f"{'is' if rest == 1 else 'are'} still to be delivered in {failover['to']}; for final numbers "
            f"write `until: {enough_s}s` in the scenario, or --until {enough_s}s"
        )
    window = failover["dedup_window"]
    yield f"  an idempotent consumer must remember {window['messages']:,} ids, {seconds(window['us'])}"
    yield ""


def _group(name: str, group: dict[str, Any]) -> Iterator[str]:
    """A shared group: what it delivered again, by cause, and how long its streams had no reader."""
    open_ = still_delivering(group)
    figures = [
        f"{_lower_bound(group, figure) if open_ else f'{group[figure]:,}'} {figure}"
        for figure in ("duplicates", "redeliveries", "lost", "reordered")
        if group[figure] or figure in ("duplicates", "lost")
    ]
    if open_:
        figures.append("still delivering at the end")
    yield f"Group {name}, {group['streams']:,} {'stream' if group['streams'] == 1 else 'streams'}"
    yield f"  {', '.join(figures)}"
    causes = ", ".join(f"{count:,} {cause}" for cause, count in group["by_cause"].items() if count)
    if causes:
        yield f"  duplicates by cause: {causes}"
    idle, moved, unread = seconds(group["unowned_us"]), group["handovers"], group["waiting"]
    yield (
        f"  without a reader, sum of streams: {idle}; {moved:,} {'handover' if moved == 1 else 'handovers'}; "
        f"{unread:,} {'message' if unread == 1 else 'messages'} not read at the end"
    )
    if open_:
        rest = group["pending_repeats"]
        yield (
            f"  the run ends too early: {rest:,} {'message' if rest == 1 else 'messages'} delivered before "
            f"{'is' if rest == 1 else 'are'} still to be delivered again; write a later `until` in the "
            "scenario, or --until"
        )
    yield ""


def _drained(failover: dict[str, Any], end_us: int) -> str:
    """When the backlog was acked; a run shows only what happened before its end."""
    if failover["drained_us"] is not None:
        return f"at {seconds(failover['drained_us'])}"
    if failover["pending_repeats"] is None:
        return "not before the next failover"
    return f"not within {seconds(end_us - failover['at_us'])}"


def _verdict(summary: dict[str, Any], scenario: Scenario, broken: list[str] | None) -> Iterator[str]:
    for violation in summary["violations"]:
        yield (
            f"VIOLATED at {seconds(violation['at_us'])} (row {violation['seq']}): {violation['claim']}: "
            f"{violation['reason']}"
        )
    if not summary["violations"]:
        yield "No check was violated."
    if broken is not None and scenario.expect:
        yield from (f"NOT AS EXPECTED: {sentence}" for sentence in broken)
        if not broken:
            yield f"All {len(scenario.expect)} expectations of the scenario are met."
