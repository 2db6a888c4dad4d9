"""The check of a Pulsar scenario: the clusters and partitions of its topics, for the rules."""

from __future__ import annotations

from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.scenarios.check import Check
from simulator.scenarios.problems import suggestion


class PulsarCheck(Check):
    """The check of a scenario of Pulsar."""

    scenario: PulsarScenario

    def served(self, topic: str) -> tuple[str, ...]:
        """Clusters where a topic exists at some time of the run: its list, and those that a command adds."""
        added = [
            command.arguments["cluster"]
            for command in self.scenario.commands
            if command.do == "replication.add-cluster" and command.arguments["topic"] == topic
        ]
        return (*self.scenario.topics[topic].clusters, *added)

    def partitions(self, topic: str) -> int:
        """Number of partitions that a topic is created with; for a shadow that of its source."""
        spec = self.scenario.topics[topic]
        if spec.shadow_of is None or spec.shadow_of not in self.scenario.topics:
            return spec.partitions
        return self.scenario.topics[spec.shadow_of].partitions

    def serves(self, keys: tuple[str | int, ...], topic: str, cluster: str) -> None:
        """Add a problem when `topic` never exists in `cluster`."""
        served = self.served(topic) if topic in self.scenario.topics else (cluster,)
        if cluster not in served:
            self.fail(keys, f"topic {topic} is not in {cluster}", suggestion(cluster, served))
