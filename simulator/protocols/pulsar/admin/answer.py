"""The text of a tool for one cluster and topic, with its notes and the lines that differ elsewhere.

Rules: an invalid request raises AdminError with a text for the reader. Work is done in pieces: `ask` yields
between them and returns the answer. While no broker serves the topic, pulsar-admin prints nothing, so the
text is empty and `unavailable` has the reason.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from simulator.protocols.pulsar.admin import metrics, stats_internal
from simulator.protocols.pulsar.admin.printed import Line, Path, Printer
from simulator.protocols.pulsar.admin.stats import TopicStats, counters
from simulator.protocols.pulsar.admin.tallies import count
from simulator.system.admin_tools import AdminError

if TYPE_CHECKING:
    from simulator.protocols.pulsar.admin.tallies import Tallies
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.pulsar import Pulsar

TOOLS = ("stats", "stats-internal", "metrics")


def ask(
    runtime: Pulsar, tool: str, cluster: str, topic_name: str | None = None
) -> Generator[None, None, dict[str, Any]]:
    """The answer as a JSON-able object.

    Returns {tool, cluster, topic, at_us, command, text, notes: [[line, words]], differs: [[line, {cluster:
    value}]], unavailable}. Lines count from 0. With `topic_name` None it is the first topic. Raises
    AdminError.
    """
    topic = _topic(runtime, tool, cluster, topic_name)
    answer = {
        "tool": tool,
        "cluster": cluster,
        "topic": topic.name,
        "at_us": runtime.now_us,
        "command": _command(tool, topic),
    }
    if not topic.loaded:
        return {**answer, "text": "", "notes": [], "differs": [], "unavailable": _unavailable(topic)}
    counted: dict[int, Tallies] = {}
    lines, notes = yield from _read(runtime, tool, topic, counted, with_notes=True)
    others: dict[str, dict[Path, str]] = {}
    for name in runtime.cluster_names:
        other = runtime.clusters[name].topics.get(topic.name)
        if other is not None and other is not topic and other.loaded:
            theirs, _none = yield from _read(runtime, tool, other, counted, with_notes=False)
            others[name] = {line.path: line.value for line in theirs if line.value is not None}
    return {
        **answer,
        "text": "".join(f"{line.text}\n" for line in lines),
        "notes": [[number, notes[line.path]] for number, line in enumerate(lines) if line.path in notes],
        "differs": _differences(lines, others),
        "unavailable": None,
    }


def _topic(runtime: Pulsar, tool: str, cluster: str, name: str | None) -> Topic:
    if tool not in TOOLS:
        raise AdminError(f"There is no tool {tool}.", f"Tools are {', '.join(TOOLS)}.")
    if cluster not in runtime.clusters:
        raise AdminError(
            f"There is no cluster {cluster}.", f"Clusters are {', '.join(runtime.cluster_names)}."
        )
    topics = runtime.clusters[cluster].topics
    if name is None and topics:
        name = next(iter(topics))
    if not topics:
        raise AdminError(
            f"No topic exists in {cluster} now.", "Choose another instant or cluster, or create one."
        )
    if name not in topics:
        raise AdminError(
            f"There is no topic {name} in {cluster}.", f"Topics there are {', '.join(topics) or 'none'}."
        )
    return topics[name]


def _command(tool: str, topic: Topic) -> str:
    """The command line that an operator would type."""
    if tool == "metrics":
        return f"curl -s http://broker.{topic.cluster.name}:8080/metrics/"
    return (
        f"pulsar-admin --admin-url http://broker.{topic.cluster.name}:8080 topics {tool} "
        f"{metrics.full_name(topic)}"
    )


def _unavailable(topic: Topic) -> str:
    cluster = topic.cluster
    if cluster.up:
        return f"No broker of {cluster.name} serves {topic.name} now, so no broker can answer."
    return (
        f"{cluster.name} is {cluster.state}: no broker answers, and pulsar-admin prints a connection error."
    )


def _read(
    runtime: Pulsar, tool: str, topic: Topic, counted: dict[int, Tallies], with_notes: bool
) -> Generator[None, None, tuple[list[Line], dict[Path, str]]]:
    """Lines and notes of one topic in one cluster."""
    stats = TopicStats(runtime, topic, (yield from counters(runtime, topic, counted)))
    notes: dict[Path, str] = {}
    if tool == "metrics":
        if 0 not in counted:
            counted[0] = yield from count(runtime.trace, 0, runtime.seq)
        counts = metrics.snapshot_counts(counted[0], topic.cluster.number)
        lines = metrics.lines(stats, counts)
        notes = stats_internal.of_metrics(stats, counts) if with_notes else notes
    elif tool == "stats":
        lines = Printer().print(stats.tree())
        notes = (yield from stats_internal.of_stats(stats)) if with_notes else notes
    else:
        lines = Printer().print(stats_internal.tree(stats))
        notes = (yield from stats_internal.of_stats_internal(stats)) if with_notes else notes
    return lines, notes


def _differences(lines: list[Line], others: dict[str, dict[Path, str]]) -> list[list[Any]]:
    """Lines whose value differs in other clusters that have the same field."""
    found = []
    for number, line in enumerate(lines):
        if line.value is None:
            continue
        elsewhere = {
            name: values[line.path]
            for name, values in others.items()
            if values.get(line.path, line.value) != line.value
        }
        if elsewhere:
            found.append([number, elsewhere])
    return found
