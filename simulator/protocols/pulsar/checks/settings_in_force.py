"""Broker settings in each cluster: those of the scenario, changed by `setting.changed` rows."""

from __future__ import annotations

from typing import Any

from simulator.checks.stretch import Stretch
from simulator.scenarios.model import Scenario
from simulator.scenarios.settings import SETTINGS


class SettingsInForce:
    """One setting, a number or a word, of every cluster and topic.

    It is the first of: the topic's policy, the cluster's setting, the scenario's setting, the default.
    """

    def __init__(self, scenario: Scenario, name: str) -> None:
        self._name = name
        self._of_topics = {
            base: topic.settings[name] for base, topic in scenario.topics.items() if name in topic.settings
        }
        otherwise = scenario.settings.get(name, SETTINGS[name].default_under(scenario.options))
        self._of_clusters = {
            cluster: spec.settings.get(name, otherwise) for cluster, spec in scenario.clusters.items()
        }

    def copy(self) -> SettingsInForce:
        """An independent copy."""
        copy = object.__new__(SettingsInForce)
        copy._name, copy._of_topics, copy._of_clusters = self._name, self._of_topics, dict(self._of_clusters)
        return copy

    def follow(self, stretch: Stretch, cluster: int, reason: int, detail: int) -> None:
        """Apply one `setting.changed` row."""
        if stretch.name(reason) == self._name:
            text = stretch.name(detail)
            self._of_clusters[stretch.name(cluster)] = int(text) if text.lstrip("-").isdigit() else text

    def value(self, cluster: str, base: str) -> Any:
        """The value in force for a topic."""
        return self._of_topics.get(base, self._of_clusters[cluster])
