"""Who may create a topic, where, and in what shape; who may delete one (fact sheet A10, D1, D2, #25312, PIP-370).

What a migration creates and deletes is judged by its own claims (`migrations`). A producer counts as connected between its start and its stop while no
command stopped it; one with a plan that ends, or that a failover moved, is not asked about: rows do not say when its client closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from simulator.checks.administration import Administered, Row, words_of
from simulator.scenarios.model import Scenario

_COPIES = ("copied-request", "set-replication-clusters")
_ORDERED = (*_COPIES, "replicator")


class CreatedWhereItMay(Administered):
    """Judges each topic that appears or grows, whoever asked."""

    claim = "A topic is created only where its namespace takes it and its name is free, gets more partitions and never fewer, and is created for another cluster only where that may order it, in a shape that it has there."

    def judge(self, row: Row) -> Iterable[str]:
        """Topics that should not be there, or not so."""
        if row.kind == "topic.created" and row.reason != "migration" and self.has.knows_policies:
            return [f"{row.topic} was created in {row.cluster}, {why}" for why in self._created(row)]
        if row.kind == "topic.partitions-changed" and row.reason in ("command", "copied-request"):
            return self._grown(row, row.cluster, row.topic, row.count, 1)
        if row.kind == "command.applied" and row.reason == "topic.update-partitions":
            given = row.arguments()
            return self._grown(row, given["cluster"], given["topic"], given["partitions"], 0)
        return []

    def _created(self, row: Row) -> Iterator[str]:
        has, base, spec = self.has, self.has.base(row.topic), self.has.scenario.topics[self.has.base(row.topic)]
        if (row.cluster, row.topic) in (has.shapes if base == row.topic else has.logs):
            yield "where it was already"
        elif row.reason == "command" and row.count and any(at == row.cluster and has.base(log) == base for at, log in has.logs):
            yield "where logs are named like its partitions"
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
        return [] if before and count >= before + more else [f"{topic} in {cluster} was given {count} partitions, and had {words_of(before)}"]


class DeletedUnused(Administered):
    """Follows who uses each topic: replicators both ways, consumers, producers."""

    claim = "A topic is deleted without force only when no replicator leaves or reaches it, and no consumer and no producer is connected to it."
    reads = (
        "replicator.created", "replicator.removed", "replicator.started", "replicator.disconnected", "consumer.connected", "consumer.disconnected",
        "client.changed", "failover.started",
    )  # fmt: skip

    def begin(self, scenario: Scenario) -> None:
        super().begin(scenario)
        self.replicators: dict[tuple[str, str, str], bool] = {}  # (from, to, log) -> connected
        self.consumers: dict[tuple[str, str, str, str], None] = {}  # (cluster, log, subscription, client)
        self.open = {name: True for name, spec in scenario.producers.items() if spec.cluster and spec.count is None and spec.at_us is None}

    def copy_into(self, copy: DeletedUnused) -> None:
        super().copy_into(copy)
        copy.replicators, copy.consumers, copy.open = dict(self.replicators), dict(self.consumers), dict(self.open)

    def judge(self, row: Row) -> Iterable[str]:
        """Deletions of what somebody uses."""
        if row.kind.startswith("replicator."):
            self._follow_replicator(row)
        elif row.kind == "consumer.connected":
            self.consumers[row.cluster, row.topic, row.subscription, row.client] = None
        elif row.kind == "consumer.disconnected":
            self.consumers.pop((row.cluster, row.topic, row.subscription, row.client), None)
        elif row.kind == "client.changed" and row.client in self.open and row.reason in ("running", "paused", "stopped", "killed", "down"):
            self.open[row.client] = row.reason in ("running", "paused")
        elif row.kind == "failover.started":
            self.open.clear()
        elif row.kind == "command.applied" and row.reason == "topic.delete" and not row.arguments().get("force"):
            cluster, base = (row.arguments()[name] for name in ("cluster", "topic"))
            return [f"{base} was deleted in {cluster} while {why}" for why in self._users(cluster, base, row.at_us)]
        return []

    def _follow_replicator(self, row: Row) -> None:
        link = row.cluster, row.peer, row.topic
        if row.kind == "replicator.removed":
            self.replicators.pop(link, None)
        else:
            self.replicators[link] = row.kind == "replicator.started"

    def _users(self, cluster: str, base: str, at_us: int) -> Iterator[str]:
        scenario = self.has.scenario
        for source, target, log in self.replicators:
            if self.has.base(log) == base and (source == cluster or (target == cluster and self.replicators[source, target, log])):
                yield f"it was replicated {source} -> {target}"
        for at, log, subscription, client in self.consumers:
            if at == cluster and self.has.base(log) == base:
                yield f"{client} read it in {subscription}"
        for name, is_open in self.open.items():
            spec = scenario.producers[name]
            if (spec.cluster, spec.topic) == (cluster, base) and is_open and spec.start_us <= at_us and (spec.stop_us is None or at_us < spec.stop_us):
                yield f"{name} was connected"


class AutoCreated(Administered):
    """Judges topics that clients made by connecting, and the refusals."""

    claim = "A client that connects creates a missing topic only where the policies in force let it, in the shape that they give or, since #25312, in that of the first remote that has it, and is refused only where they do not let it."
    reads = ("topic.creation-refused",)

    def judge(self, row: Row) -> Iterable[str]:
        """Topics and refusals that the policies do not give."""
        if not self.has.knows_policies or row.topic in self.has.lists_unknown:
            return []
        if row.kind == "topic.created" and row.reason == "client":
            return self._created(row)
        if row.kind == "topic.creation-refused" and row.reason == "auto-creation" and self._lets(row.cluster, row.topic):
            return [f"{row.client} was refused {row.topic} in {row.cluster}, where clients may create it"]
        return []

    def _lets(self, cluster: str, base: str) -> bool:
        has, spec = self.has, self.has.scenario.topics[base]
        there = (cluster, spec.namespace) in has.policies and spec.shadow_of is None and not has.kept_out(cluster, base)
        return there and has.auto_creation(cluster, spec.namespace)[0]

    def _created(self, row: Row) -> list[str]:
        has, base = self.has, row.topic
        made = f"{row.client} created {base} in {row.cluster}"
        if not self._lets(row.cluster, base):
            return [f"{made}, where clients may not"]
        _allowed, kind, partitions = has.auto_creation(row.cluster, has.scenario.topics[base].namespace)
        count, whose = partitions if kind == "partitioned" else 0, None
        for remote in has.remotes(row.cluster, base) if has.rule == "implemented" else ():
            if has.answers(row.cluster, remote) and (remote, base) in has.shapes:
                count, whose = has.shapes[remote, base], remote
                break
        if (row.count, row.peer) == (count, whose):
            return []
        return [f"{made} as {words_of(row.count)}; {f'{whose} has' if whose else 'the policies give'} {words_of(count)}"]
