"""The comparison of reruns with durable shared subscriptions: each group's figures."""

from __future__ import annotations

from typing import Any

from simulator.system.measured import Case, Compared, Figure, Price, figure_words, per_second

FIGURES = (
    Figure("duplicates", "duplicates", "duplicates", grows=True),
    Figure("redeliveries", "redelivered", "redelivered", grows=True),
    Figure("lost", "lost", "lost"),
    Figure("lost_qos0", "lost, QoS 0", "lost, QoS 0"),
    Figure("waiting", "unread at the end", "unread at the end"),
    Figure("unowned_us", "without a reader, sum of streams", "without a reader, summed over streams", "us"),
    Figure("two_readers_us", "two readers", "two readers", "us"),
)

PRICES = (
    Price("messages_per_s", "messages/s between sessions and leaders"),
    Price("commits_per_s", "commits/s of leaders"),
    Price("chunks_per_s", "chunks/s"),
    Price("unowned_us", "time without a reader, sum of streams", "us"),
)
RATES = {
    "messages_per_s": "protocol.sent",
    "commits_per_s": "leader.committed",
    "chunks_per_s": "chunk.fetched",
}
"""The rows that a rate of the whole run counts."""


def _cases(world: Any) -> list[Case]:
    """The groups as in the summary, each compared from the first command on, with the run's rates."""
    at_us = min((result["at_us"] for result in world.command_results), default=0)
    trace = world.trace
    rates = {
        name: per_second(sum(1 for _ in trace.seqs(0, world.seq, types=(row,), limit=None)), world.now_us)
        for name, row in RATES.items()
    }
    return [
        {"name": name, "label": f"group {name}", "at_us": at_us, **counted.summary(), **rates}
        for name, counted in sorted(world.counted().groups.items())
    ]


def _difference(real: Case, other: Case) -> str:
    return ", ".join(figure_words(FIGURES, real, other)) or "no difference"


def _harm(real: Case, other: Case) -> tuple[int, ...]:
    """The harm of an outcome, as integers in order of weight: a loss outweighs any number of duplicates.

    Messages that only the other run had not read by its end count like duplicates, because a group that reads
    nothing has no duplicates.
    """
    unread = max(0, other["waiting"] - real["waiting"])
    return (
        other["lost"],
        other["lost_qos0"],
        other["duplicates"] + unread,
        other["redeliveries"],
        other["unowned_us"],
    )


COMPARED = Compared(
    "group",
    _cases,
    FIGURES,
    _difference,
    _harm,
    "the group was not declared",
    "No group was declared in this run, so there is nothing to compare.",
    prices=PRICES,
)
