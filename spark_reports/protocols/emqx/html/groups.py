"""A group on the report's page: its sentence, figures, causes, leases, balance, single messages.

Rules: a section without content is left out. Numbers are taken from the report's values as they are.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape

from simulator import cause_texts
from spark_reports.html.numbers import message_name, number, plural, seconds, span
from spark_reports.html.sections import (
    NOTHING,
    article,
    bold,
    chart,
    harm,
    message,
    messages,
    render,
    replay,
    section,
    squares,
    squares_say,
    table,
    what_if,
)
from spark_reports.protocols.emqx.html import charts as group_charts
from spark_reports.protocols.emqx.html.words import event_words
from spark_reports.protocols.manifest import Figure, Heading

TEMPLATES = "protocols/emqx/html/templates"
FIGURE = ("value", "unit", "words", "kind")
BALANCE_PX = 300

CAUSES = cause_texts("emqx")


def heading(runs: list[dict[str, Any]], alone: bool) -> Heading | None:
    """The page's heading, which names the group when the page is about one alone."""
    pairs = _pairs(runs)
    return Heading(f"{pairs[0][1]['name']}, a shared subscription", "Report") if alone and pairs else None


def overview(runs: list[dict[str, Any]], alone: bool) -> list[Markup]:
    """The list of all groups, one line each; empty when the page is about a single one."""
    pairs = _pairs(runs)
    return [] if alone and pairs else [_overview(pairs)]


def articles(runs: list[dict[str, Any]], alone: bool) -> list[Markup]:
    """The articles of the groups described in full."""
    return [_article(*found, alone) for found in _detailed(runs)]


def figures(runs: list[dict[str, Any]]) -> list[Figure]:
    """The charts of these articles."""
    return [figure for found in _detailed(runs) for figure in _charts(*found)]


def _pairs(runs: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(run, group) for run in runs for group in run["groups"]]


def _detailed(runs: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any], int]]:
    """Run, group and number of the groups described in full: those whose streams are listed one by one."""
    pairs = enumerate(_pairs(runs))
    return [(run, group, place) for place, (run, group) in pairs if "streams_shown" in group]


def _article(run: dict[str, Any], group: dict[str, Any], place: int, alone: bool) -> Markup:
    """The article of one group, from the headline to single messages. `place` is its number on the page."""
    parts = [
        headline(run, group, alone),
        six_figures(group),
        causes(run, group),
        what_if(run, group["number"]),
    ]
    if group["streams_shown"]:
        parts += [
            _readers(group, f"readers-{place}"),
            _streams(group),
            _balance(group, f"balance-{place}"),
            _overlaps(run, group),
        ]
    parts += [_stories(group), replay(run)]
    return article(parts, alone)


def _charts(run: dict[str, Any], group: dict[str, Any], place: int) -> list[tuple[str, dict[str, Any]]]:
    """The charts that an article has places for."""
    if not group["streams_shown"]:
        return []
    return [
        (f"readers-{place}", group_charts.readers(group, run["until_us"])),
        (f"balance-{place}", group_charts.balance(group, run["until_us"])),
    ]


def _overview(pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> Markup:
    """The table of every group of every run, one line each."""
    if not pairs:
        return Markup(
            '<h1>No group was declared.</h1><p class="dek">The trace holds no durable shared subscription, '
            "so there is nothing to judge.</p>"
        )
    twice, lost = (sum(group[name] for _, group in pairs) for name in ("messages_twice", "lost"))
    open_ = sum(group["pending_repeats"] > 0 for _, group in pairs)
    least = "at least " if open_ else ""
    head = Markup("<h1>{} got {} and lost {}{}.</h1>").format(
        plural(len(pairs), "group", "groups"),
        harm(least + plural(twice, "message", "messages") + " twice") if twice else bold("no message twice"),
        bold(number(lost) if lost else "none"),
        f"; {number(open_)} {'was' if open_ == 1 else 'were'} still delivering at the end" if open_ else "",
    )
    rows = [
        [
            run["scenario"],
            group["name"],
            number(group["streams"]),
            number(group["sessions"]),
            number(group["published"]),
            _lower_bound(group, "messages_twice"),
            number(group["redeliveries"]),
            number(group["lost"]),
            _span(group["handover_us"]["max"]),
            _span(group["unowned_us"] or None),
            _span(group["two_readers_us"] or None),
        ]
        for run, group in pairs
    ]
    heads = [
        "run",
        "group",
        "streams",
        "sessions",
        "published",
        "duplicates",
        "redelivered",
        "lost",
        "longest handover",
        "without a reader",
        "two readers",
    ]
    return head + section(
        "Every group",
        "Time without a reader and time with two are summed over a group's streams.",
        table(heads, rows, ["harm" if group["lost"] else "" for _, group in pairs], words=2),
    )


def headline(run: dict[str, Any], group: dict[str, Any], alone: bool) -> Markup:
    """The headline, which the sections below explain."""
    return render(
        f"{TEMPLATES}/headline.html",
        run=run,
        group=group,
        alone=alone,
        leader_changes=_times(group["leader_changes"]),
        two_readers=_times(group["two_readers"]),
    )


def _lower_bound(group: dict[str, Any], name: str) -> str:
    """A figure, "at least 21" while the run ends before all that was due was delivered again."""
    return ("at least " if group["pending_repeats"] else "") + number(group[name])


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{number(count)} times")


def _span(us: int | None) -> str:
    return "–" if us is None else span(us)


def six_figures(group: dict[str, Any]) -> Markup:
    """The six main figures of a group."""
    found = [
        (
            _lower_bound(group, "messages_twice"),
            "",
            f"duplicates, in {number(group['duplicates'])} deliveries"
            if group["duplicates"] != group["messages_twice"]
            else "duplicates",
            "harm" if group["duplicates"] else "zero",
        ),
        (number(group["redeliveries"]), "", "redelivered", "" if group["redeliveries"] else "zero"),
        (number(group["lost"]), "", "lost", "harm" if group["lost"] else "zero"),
        (
            *_figure(group["handover_us"]["max"]),
            f"longest of {plural(group['handovers'], 'handover', 'handovers')}"
            if group["handovers"]
            else "no handover",
            "",
        ),
        (
            *_figure(group["unowned_us"]),
            "without a reader" if group["streams"] == 1 else "without a reader, summed over streams",
            "harm" if group["unowned_us"] else "zero",
        ),
        (
            *_figure(group["two_readers_us"]),
            "with two readers at once",
            "harm" if group["two_readers_us"] else "zero",
        ),
    ]
    also = [
        (f"{number(group['reordered'])} reordered", group["reordered"]),
        (f"{number(group['lost_qos0'])} lost of QoS 0", group["lost_qos0"]),
        (f"{number(group['waiting'])} not read at the end", group["waiting"]),
        (
            f"{plural(group['pending_repeats'], 'message', 'messages')} still to be delivered again",
            group["pending_repeats"],
        ),
    ]
    happened = ", ".join(words for words, count in also if count)
    return render(
        f"{TEMPLATES}/figures.html",
        figures=[dict(zip(FIGURE, one, strict=True)) for one in found],
        also=f"Also {happened}." if happened else "",
        handovers=group["handovers"],
        handover_us=group["handover_us"],
    )


def _figure(us: int | None) -> tuple[str, str]:
    """A span as a large number and its unit."""
    if not us:
        return ("–" if us is None else "0"), ""
    return (f"{us / 1000:.0f}", "ms") if us < 1_000_000 else (f"{us / 1_000_000:.2f}", "s")


def _at(run: dict[str, Any], at_us: int) -> Markup:
    """An instant. On the site it is a link to a replay at that instant."""
    words = f"{seconds(at_us)} s"
    if not run.get("replay_url"):
        return escape(words)
    link = Markup('<a href="{}?at_us={}" target="_blank" rel="noopener">{}</a>')
    return link.format(run["replay_url"], at_us, words)


def causes(run: dict[str, Any], group: dict[str, Any]) -> Markup:
    """The section of causes: one row of squares per cause, with an example."""
    if not group["causes"]:
        return NOTHING
    return render(
        f"{TEMPLATES}/causes.html",
        run=run,
        says=squares_say(
            (one["duplicates"] for one in group["causes"]), "delivery of an already acknowledged message"
        )
        + " Each has exactly one cause, so the causes add up to the total.",
        causes=[
            _one_cause(group, one) for one in sorted(group["causes"], key=lambda one: -one["duplicates"])
        ],
        absent=[CAUSES[name][0].lower() for name, count in group["by_cause"].items() if not count],
    )


def _one_cause(group: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
    heading, says = CAUSES[one["cause"]]
    example = one["example"]
    rows = (
        ("acknowledged", example["ack_seq"]),
        ("deciding event", example["decided_seq"]),
        ("delivered", example["seq"]),
    )
    return {
        **one,
        "count": one["duplicates"],
        "heading": heading,
        "says": says,
        "name": message_name(example["producer"], example["sequence_id"]),
        "squares": squares({group["name"]: one["duplicates"]}, [group["name"]]),
        "rows": [(role, seq) for role, seq in rows if seq is not None],
    }


def _readers(group: dict[str, Any], name: str) -> Markup:
    few = (
        f" The {len(group['streams_shown'])} of {number(group['streams'])} streams that were longest without a reader or with two."
        if group["streams"] > len(group["streams_shown"])
        else ""
    )
    says = f"One row per stream, one bar per lease. Dotted: the stream existed and had no reader.{few}"
    words = "; ".join(
        (
            f"{one['stream']}: "
            f"{', '.join(dict.fromkeys(reader['client'] for reader in one['readers'])) or 'no reader'}"
        )
        for one in group["streams_shown"]
    )
    return chart(
        "Leases of each stream", says, name, label=words, height_px=group_charts.readers_height(group)
    )


def _streams(group: dict[str, Any]) -> Markup:
    rows = [
        [
            one["stream"],
            seconds(one["found_us"]),
            number(one["handovers"]),
            _span(one["slowest_us"]),
            _span(one["unowned_us"] or None),
            _span(one["two_readers_us"] or None),
        ]
        for one in group["streams_shown"]
    ]
    says = (
        "A handover is from the end of one session's lease of a stream to the start of another's. Time without "
        "a reader includes the time before the first lease."
    )
    heads = ["stream", "discovered, s", "handovers", "longest", "without a reader", "two readers at once"]
    return section(
        "Handovers and time without a reader",
        says,
        table(heads, rows, ["marked" if one["two_readers_us"] else "" for one in group["streams_shown"]]),
    )


def _balance(group: dict[str, Any], name: str) -> Markup:
    found = group["balance"]
    says = "Streams leased to each session over time; bottom: streams without a reader."
    if len(found["sessions"]) > group_charts.LINES_MOST:
        says = (
            f"The most and the fewest streams leased to one of the {number(len(found['sessions']))} sessions, "
            f"over time; bottom: streams without a reader."
        )
    words = "; ".join(
        f"{client}: at most {max(counts)}, {counts[-1]} at the end"
        for client, counts in list(found["sessions"].items())[: group_charts.LINES_MOST]
    )
    return chart("Streams per session", says, name, label=words, height_px=BALANCE_PX)


def _overlaps(run: dict[str, Any], group: dict[str, Any]) -> Markup:
    if not group["overlaps"]:
        return NOTHING
    rows = [
        [
            one["stream"],
            f"{one['one']} and {one['other']}",
            _at(run, one["at_us"]),
            _at(run, one["end_us"]),
            span(one["end_us"] - one["at_us"]),
        ]
        for one in group["overlaps"]
    ]
    few = (
        f" The {len(rows)} longest of {number(group['two_readers'])}."
        if group["two_readers"] > len(rows)
        else ""
    )
    leases = group["leases_us"]
    says = (
        f"Not a violation of the protocol: a leader reassigns a stream {span(leases['leader'])} after the "
        f"reader's last ping, a reader without an answer keeps reading for up to {span(leases['reader'])}, "
        f"and a new leader has no record of it. What both receive are duplicates.{few}"
    )
    return section(
        "Two readers at once", says, table(["stream", "readers", "from", "to", "duration"], rows, words=2)
    )


def _stories(group: dict[str, Any]) -> Markup:
    chosen = [
        message(one["example"], CAUSES[one["cause"]][0].lower(), one["story"], event_words)
        for one in group["causes"]
    ]
    return messages(
        "The first duplicate of each cause, with what its readers and leaders did in between. #n is the row of "
        "the trace.",
        chosen,
    )
