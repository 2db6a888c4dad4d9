"""Which requests may create topics, in which clusters and shapes (PIP-370, PIP-433, #25312).

Topics that a migration creates are judged by its own claims (`migrations`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simulator.protocols.pulsar.checks.administration import Administered, Row, words_of

_COPIES = ("copied-request", "set-replication-clusters")
_ORDERED = (*_COPIES, "replicator")


class CreatedWhereItMay(Administered):
    """Judges each topic that is created or gets partitions, for any kind of request."""

    claim = (
        "A topic is created only where its namespace takes it and its name is free, gets more partitions "
        "and never fewer, and is created for another cluster only where that may order it, in a shape that "
        "it has there."
    )

    def judge(self, row: Row) -> Iterable[str]:
        """Topics that must not exist, or not in this shape."""
        if row.kind == "topic.created" and row.reason != "migration":
            return [f"{row.topic} was created in {row.cluster}, {why}" for why in self._created(row)]
        if row.kind == "topic.partitions-changed" and row.reason in ("command", "copied-request"):
            return self._grown(row, row.cluster, row.topic, row.count, 1)
        if row.kind == "command.applied" and row.reason == "topic.update-partitions":
            given = row.arguments()
            return self._grown(row, given["cluster"], given["topic"], given["partitions"], 0)
        return []

    def _created(self, row: Row) -> Iterator[str]:
        has, base, spec = (
            self.has,
            self.has.base(row.topic),
            self.has.scenario.topics[self.has.base(row.topic)],
        )
        if (row.cluster, row.topic) in (has.shapes if base == row.topic else has.logs):
            yield "where it was already"
        elif row.reason in ("command", "copied-request") and row.count:
            numbers = [
                int(log.rpartition("-")[2])
                for at, log in has.logs
                if at == row.cluster and log != base and has.base(log) == base
            ]
            yield from (
                f"with {row.count} partitions, where a log is named like partition {number}"
                for number in numbers
                if number >= row.count
            )
        if (row.cluster, spec.namespace) not in has.policies:
            yield f"which has no namespace {spec.namespace}"
        elif spec.shadow_of is None and has.kept_out(row.cluster, base):
            yield f"which is not on its list [{', '.join(has.list_in_force(row.cluster, base))}]"
        if row.reason in _ORDERED and not has.created_remotely[row.peer]:
            yield f"by order of {row.peer}, which is set to order none"
        if row.reason in _COPIES and has.rule == "proposal":
            yield f"by a request copied from {row.peer}, which the proposal has no more"
        elif row.reason in _COPIES and row.count not in has.had.get((row.peer, base), (row.count,)):
            yield f"as {words_of(row.count)} by order of {row.peer}, which never had it so"

    def _grown(self, row: Row, cluster: str, topic: str, count: int, more: int) -> list[str]:
        before = self.has.shapes.get((cluster, topic))
        return (
            []
            if before and count >= before + more
            else [f"{topic} in {cluster} was given {count} partitions, and had {words_of(before)}"]
        )


class AutoCreated(Administered):
    """Judges topics that clients created by connecting, and refusals of that."""

    claim = (
        "A client that connects creates a missing topic only where the policies in force let it, in the "
        "shape that they give or, since #25312, in that of the first remote that has it, and is refused "
        "only where they do not let it."
    )
    reads = ("topic.creation-refused",)

    def judge(self, row: Row) -> Iterable[str]:
        """Topics and refusals that contradict the policies."""
        if row.topic in self.has.lists_unknown:
            return []
        if row.kind == "topic.created" and row.reason == "client":
            return self._created(row)
        if (
            row.kind == "topic.created"
            and row.reason == "reconnection"
            and not self._lets(row.cluster, self.has.base(row.topic))
        ):
            return [f"the replicator from {row.peer} created {row.topic} in {row.cluster}, where it may not"]
        if (
            row.kind == "topic.creation-refused"
            and row.reason == "auto-creation"
            and self._lets(row.cluster, row.topic)
        ):
            return [f"{row.client} was refused {row.topic} in {row.cluster}, where clients may create it"]
        return []

    def _lets(self, cluster: str, base: str) -> bool:
        has, spec = self.has, self.has.scenario.topics[base]
        there = (
            (cluster, spec.namespace) in has.policies
            and spec.shadow_of is None
            and not has.kept_out(cluster, base)
        )
        return there and has.auto_creation(cluster, spec.namespace)[0]

    def _created(self, row: Row) -> list[str]:
        has, base = self.has, row.topic
        made = f"{row.client} created {base} in {row.cluster}"
        if not self._lets(row.cluster, base):
            return [f"{made}, where clients may not"]
        _allowed, kind, partitions = has.auto_creation(row.cluster, has.scenario.topics[base].namespace)
        count, whose = partitions if kind == "partitioned" else 0, ""
        asks = has.rule == "implemented" and has.creates_remotely[row.cluster]
        for remote in has.namespace_remotes(row.cluster, base) if asks else ():
            if has.answers(row.cluster, remote) and (remote, base) in has.shapes:
                count, whose = has.shapes[remote, base], remote
                break
        if (row.count, row.peer) == (count, whose):
            return []
        return [
            (
                f"{made} as {words_of(row.count)}; {f'{whose} has' if whose else 'the policies give'} "
                f"{words_of(count)}"
            )
        ]
