"""A topic deleted without force is not in use, and a terminated topic takes no more messages.

The rule is `PersistentTopic.delete` and PIP-180. The response is 422 for a topic that feeds shadows or
replicates, 412 for one that is fed, replicated to or consumed from. A forced deletion always succeeds. Rows
do not record producers' connections: a producer counts as connected between its start and its stop while no
command stopped it. One whose plan ends, or that a failover moved, is not judged. Audiences are left out. A
refusal is judged where the plan holds the request, no request uses a role, and no such producer or audience
could be the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Self

from simulator.checks.check import Check, first_broken
from simulator.checks.stretch import PAST_EVERY_LEDGER, Rows, Stretch
from simulator.protocols.pulsar.checks.administration import declared_shapes
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.planned_commands import planned_arguments
from simulator.protocols.pulsar.events import CODE
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of

_USING = (
    "command.applied",
    "consumer.connected",
    "consumer.disconnected",
    "replicator.created",
    "replicator.removed",
    "replicator.started",
    "replicator.disconnected",
    "shadow.replicator-created",
    "shadow.replicator-started",
    "shadow.replicator-stopped",
    "client.changed",
    "failover.started",
    "command.refused",
    "topic.created",
    "topic.deleted",
    "cluster.crashed",
    "cluster.lost",
    "cluster.restarted",
)
(
    _COMMANDED,
    _CONNECTED,
    _DISCONNECTED,
    _CREATED,
    _REMOVED,
    _STARTED,
    _BROKEN,
    _FEEDER,
    _FEEDING,
    _STOPPED,
    _CHANGED,
    _FAILED_OVER,
    *_REST,
) = (CODE[name] for name in _USING)
_REFUSED, *_LASTING = _REST
_MADE, _UNMADE, _CRASHED, _LOST, _RESTARTED = _LASTING
_DELETIONS = ("topic.delete", "shadow.delete")
_STATES = {"running": True, "paused": True, "stopped": False, "killed": False, "down": False}

Place = tuple[int, int]
"""Fields: (cluster, topic)."""

Use = tuple[str, ...]
"""(kind of use, cluster, topic's base, and the fields that distinguish it from others)."""


class DeletedUnused(Check):
    """Keeps the uses of each topic.

    These are consumers, producers, outgoing and incoming replicators, the shadows that it feeds and the
    source that feeds it.
    """

    claim = (
        "A topic with shadow topics, replicators, consumers or producers is deleted by an "
        "administrator only by force, and no other deletion is refused."
    )

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.shadows = frozenset(name for name, spec in scenario.topics.items() if spec.shadow_of is not None)
        self.uses: dict[Use, None] = {}
        self.producers = {
            name: spec
            for name, spec in scenario.producers.items()
            if spec.cluster and spec.count is None and spec.at_us is None
        }
        self.open = dict.fromkeys(self.producers, True)
        self.planned = planned_arguments(scenario)
        self.doubtful = frozenset(
            spec.topic
            for name, spec in (*scenario.producers.items(), *scenario.audiences.items())
            if name not in self.producers
        )
        self.present = dict.fromkeys(declared_shapes(scenario))
        self.down: dict[str, None] = {}

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.shadows, copy.producers, copy.planned, copy.doubtful = (
            self.topics,
            self.shadows,
            self.producers,
            self.planned,
            self.doubtful,
        )
        copy.uses, copy.open, copy.present, copy.down = (
            dict(self.uses),
            dict(self.open),
            dict(self.present),
            dict(self.down),
        )

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Deletions of topics that are in use."""
        broken: list[tuple[int, str]] = []
        for seq, kind, *row, detail in stretch.of(*_USING).records(
            "type", "cluster", "peer", "topic", "subscription", "client", "reason", "detail"
        ):
            cluster, peer, topic, subscription, client, reason = (stretch.name(number) for number in row)
            if kind in _LASTING:
                self._stand(kind, cluster, base_of(self.topics, topic))
            elif kind == _REFUSED:
                broken += [(seq, why) for why in self._refused(reason, stretch.at_us(seq))]
            elif kind != _COMMANDED:
                self._follow(kind, cluster, peer, topic, (subscription, client), reason)
            elif reason in _DELETIONS:
                arguments = json.loads(stretch.name(detail))
                named = arguments["topic"].rpartition("/")[2]
                using = (
                    []
                    if arguments["force"]
                    else list(self._using(arguments["cluster"], named, stretch.at_us(seq)))
                )
                if using:
                    broken.append(
                        (
                            seq,
                            f"{named} was deleted in {arguments['cluster']} without force, and it {using[0]}",
                        )
                    )
        return broken

    def _stand(self, kind: int, cluster: str, base: str) -> None:
        """Record which topics exist, and which clusters are up."""
        if kind == _MADE:
            self.present[cluster, base] = None
        elif kind == _UNMADE:
            self.present.pop((cluster, base), None)
        elif kind == _RESTARTED:
            self.down.pop(cluster, None)
        else:
            self.down[cluster] = None

    def _refused(self, command: str, at_us: int) -> Iterator[str]:
        arguments = self.planned.get((at_us, command)) if command in _DELETIONS else None
        if arguments is None or arguments.get("role") is not None:
            return
        cluster, named = arguments["cluster"], arguments["topic"].rpartition("/")[2]
        sure = self.open and named not in self.doubtful if self.producers else named not in self.doubtful
        there = (cluster, named) in self.present and cluster not in self.down
        if command == "shadow.delete" and named not in self.shadows:
            return  # 404: it deletes shadow topics only
        if there and (arguments["force"] or (sure and not any(self._using(cluster, named, at_us)))):
            yield (
                f"{command} of {named} in {cluster} was refused, "
                f"{'by force though it was' if arguments['force'] else 'although no client used it'}"
            )

    def _using(self, cluster: str, topic: str, at_us: int) -> Iterator[str]:
        yield from (use[0] for use in self.uses if use[1:3] == (cluster, topic))
        for name, spec in self.producers.items():
            if (
                (spec.cluster, spec.topic) == (cluster, topic)
                and self.open.get(name)
                and spec.start_us <= at_us
                and (spec.stop_us is None or at_us < spec.stop_us)
            ):
                yield f"has the producer {name}"

    def _follow(
        self, kind: int, cluster: str, peer: str, topic: str, client: tuple[str, str], reason: str
    ) -> None:
        base = base_of(self.topics, topic)
        if kind in (_CONNECTED, _DISCONNECTED):
            self._note(kind == _CONNECTED, ("has consumers", cluster, base, topic, *client))
        elif kind == _CHANGED:
            if client[1] in self.open and reason in _STATES:
                self.open[client[1]] = _STATES[reason]
        elif kind == _FAILED_OVER:
            self.open.clear()
        elif kind in (_CREATED, _REMOVED):
            self._note(kind == _CREATED, ("replicates", cluster, base, topic, peer))
        elif kind in (_STARTED, _BROKEN):
            self._note(kind == _STARTED, ("is replicated to", peer, base, topic, cluster))
        elif kind == _FEEDER:
            self._note(True, ("feeds shadows", cluster, base_of(self.topics, reason), topic))
        elif kind == _FEEDING:
            self._note(True, ("is fed", cluster, base, topic))
        else:
            self._note(False, ("is fed", cluster, base, topic))
            if not reason.startswith("shadow-"):  # otherwise its replicator is started again
                self.uses = {
                    use: None
                    for use in self.uses
                    if not (use[0] == "feeds shadows" and use[1] == cluster and use[3] == topic)
                }

    def _note(self, begins: bool, use: Use) -> None:
        if begins:
            self.uses[use] = None
        else:
            self.uses.pop(use, None)


class Terminated(Check):
    """Keeps the terminated topics."""

    claim = "A topic that was terminated stores nothing more."

    def begin(self, scenario: Scenario) -> None:
        self.topics = frozenset(scenario.topics)
        self.ended: dict[Place, None] = {}

    def copy_into(self, copy: Self) -> None:
        copy.topics, copy.ended = self.topics, dict(self.ended)

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Messages in a terminated log."""
        turns = stretch.of("topic.terminated", "topic.deleted")
        if not self.ended and not len(turns):
            return []
        since, spans = dict.fromkeys(self.ended, -1), []
        for seq, kind, cluster, topic in turns.records("type", "cluster", "topic"):
            if kind == CODE["topic.terminated"]:
                since.setdefault((cluster, topic), seq)
                continue
            for place in [
                one
                for one in since
                if one[0] == cluster and base_of(self.topics, stretch.name(one[1])) == stretch.name(topic)
            ]:
                spans.append((place, since.pop(place), seq))
        self.ended = dict.fromkeys(since)
        written = dict(
            stretch.of("message.stored", "marker.written", "marker.stored").groups("cluster", "topic")
        )
        return [
            found
            for span in (*spans, *((place, seq, PAST_EVERY_LEDGER) for place, seq in since.items()))
            for found in self._written(stretch, written, *span)
        ]

    @staticmethod
    def _written(
        stretch: Stretch, written: dict[Place, Rows], place: Place, after: int, before: int
    ) -> Iterator[tuple[int, str]]:
        if place in written:
            seqs = written[place].seqs
            name = stretch.name(place[1])
            yield from first_broken(
                seqs[(seqs > after) & (seqs < before)],
                lambda _n: f"{name} stored more after it was terminated",
            )
