"""A role that produces, consumes or sets shadow topics has the permission on that topic (PIP-180).

Only a scenario with roles has authorisation. A client acts as its role, and a command as the role that it
names or as a superuser. Permissions on a source give none on its shadows, nor the reverse. Audiences have no
roles. The claim reads only the scenario's section `roles`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Self

from simulator.checks.check import Check, all_broken
from simulator.checks.stretch import Stretch
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.scenarios.model import Scenario
from simulator.scenarios.names import base_of
from simulator.trace.registry import NULL

PRODUCE, CONSUME, LIST = "produce", "consume", "shadow_topic_policy"
_SOURCE_IN = {
    "shadow.set": "topic",
    "shadow.remove": "topic",
    "shadow.list": "topic",
    "shadow.create": "source",
    "shadow.delete": "topic",
}
"""Commands about a list of shadow topics, and the argument that names the source."""


class Permitted(Check):
    """Keeps only the scenario's roles."""

    claim = (
        "Where a scenario has roles, producing, consuming and changing a list of shadow topics "
        "needs the permission on that topic, and no client that has it is refused."
    )

    def begin(self, scenario: Scenario) -> None:
        self.scenario = scenario

    def copy_into(self, copy: Self) -> None:
        copy.scenario = self.scenario

    def read(self, stretch: Stretch, known: Knowledge) -> Iterable[tuple[int, str]]:
        """Actions without permission, and refusals despite permission."""
        if not self.scenario.roles:
            return []
        return [
            *self._stored(stretch),
            *self._consuming(stretch),
            *self._failed(stretch),
            *self._commanded(stretch),
        ]

    def _may(self, role: str | None, action: str, topic: str) -> bool:
        spec = self.scenario.roles.get(role) if role is not None else None
        return spec is not None and (spec.superuser or topic in getattr(spec, action))

    def _client(self, clients: dict[str, Any], name: str, action: str, topic: str) -> tuple[bool, str]:
        """Whether a client may perform the action on a topic, and its name with its role's."""
        role = clients[name].role
        return self._may(
            role, action, base_of(self.scenario.topics, topic)
        ), f"{name}, {f'whose role is {role}' if role is not None else 'which has no role'},"

    def _stored(self, stretch: Stretch) -> Iterator[tuple[int, str]]:
        stored, producers = stretch.of("message.stored"), self.scenario.producers
        for (topic, producer), rows in stored.take(stored["peer"] == NULL).groups("topic", "producer"):
            if stretch.name(producer) in producers:
                allowed, who = self._client(producers, stretch.name(producer), PRODUCE, stretch.name(topic))
                if not allowed:
                    words = f"{who} produced to {stretch.name(topic)} without the permission"
                    yield from all_broken(rows.seqs, words)

    def _failed(self, stretch: Stretch) -> Iterator[tuple[int, str]]:
        failed = stretch.of("message.send-failed")
        for (topic, producer), rows in failed.take(
            failed["reason"] == stretch.number("not-authorised")
        ).groups("topic", "producer"):
            allowed, who = self._client(
                self.scenario.producers, stretch.name(producer), PRODUCE, stretch.name(topic)
            )
            if allowed:
                words = f"{who} may produce to {stretch.name(topic)} and was refused"
                yield from all_broken(rows.seqs, words)

    def _consuming(self, stretch: Stretch) -> Iterator[tuple[int, str]]:
        consumers, subscriptions = self.scenario.consumers, self.scenario.subscriptions
        for seq, topic, client in stretch.of("consumer.connected").records("topic", "client"):
            allowed, who = self._client(consumers, stretch.name(client), CONSUME, stretch.name(topic))
            if not allowed:
                yield seq, f"{who} consumes from {stretch.name(topic)} without the permission"
        changed = stretch.of("client.changed")
        for seq, client in changed.take(
            changed["reason"] == stretch.number("refused-not-authorised")
        ).records("client"):
            name = stretch.name(client)
            topic = subscriptions[consumers[name].subscription].topic
            allowed, who = self._client(consumers, name, CONSUME, topic)
            if allowed:
                yield seq, f"{who} may consume from {topic} and was refused"

    def _commanded(self, stretch: Stretch) -> Iterator[tuple[int, str]]:
        for seq, reason, detail in stretch.of("command.applied").records("reason", "detail"):
            command = stretch.name(reason)
            if command == "producer.send":
                name = json.loads(stretch.name(detail))["producer"]
                topic = self.scenario.producers[name].topic
                allowed, who = self._client(self.scenario.producers, name, PRODUCE, topic)
                if not allowed:
                    yield seq, f"{who} sent to {topic} without the permission"
            elif command in _SOURCE_IN:
                arguments = json.loads(stretch.name(detail))
                source = arguments[_SOURCE_IN[command]].rpartition("/")[2]
                if command == "shadow.delete":
                    source = self.scenario.topics[source].shadow_of
                role = arguments.get("role")
                if role is not None and not self._may(role, LIST, source):
                    yield (
                        seq,
                        (
                            f"role {role} had {command} done to {source} without WRITE on its policy "
                            f"SHADOW_TOPIC"
                        ),
                    )
