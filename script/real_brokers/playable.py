"""What of a scenario can be played on real brokers; all else is named before anything starts.

Rules: a scenario is played completely or not at all. All problems are reported at once, each with line and
column, what cannot be played, and what would be right. What is listed here as playable is what `plan.py`,
`effects.py` and the Java programs implement; an unknown key, option or argument is never ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from script.real_brokers.install import newest_with, options_of
from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.scenarios import shape
from simulator.scenarios.model import Scenario
from simulator.scenarios.settings import OPTIONS
from simulator.scenarios.tree import Node, Problem, read_tree

# --- the comparison jobs: the scenario files in `jobs/`, by name
#
# Rules: a job's file has the job's name, which no built-in scenario has. A job plays on the version whose
# cache rule it sets. It expects no figures, because the comparison decides, and no violated check. The
# simulated side of a predicted job has the times of a calibration, which was made from other runs.


FOLDER = Path(__file__).resolve().parent / "jobs"
_SUFFIX = ".yaml"

PREDICTED = ("predicted-30",)
"""The predicted jobs: they are played with `--calibration`."""


def job_names() -> tuple[str, ...]:
    """Names of all jobs, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob(f"*{_SUFFIX}")))


def job_text(name: str) -> str:
    """The file of a job, comments included. Raises KeyError for a name that no job has."""
    if name not in job_names():
        raise KeyError(name)
    return (FOLDER / f"{name}{_SUFFIX}").read_text(encoding="utf-8")


CLUSTERS_MAX = 4
"""The most clusters of a scenario: each is a Java process with 750 MB."""

Found = tuple[str, str, str]
"""Path in the scenario, what cannot be played, what would be right."""

_SECTIONS = {
    "brokers": "brokers with limits",
    "namespaces": "policies of namespaces",
    "schemas": "schemas",
    "roles": "roles",
    "audiences": "audiences",
    "tenants": "the LookupService",
}
_CLIENT_DEFAULTS: dict[str, dict[str, str]] = {
    "topics": {
        "replication": "replication between some of its clusters only",
        "settings": "topic policies",
        "exists": "a topic that exists in some of its clusters only",
        "shadow_of": "shadow topics",
        "shadow_replication": "shadow topics",
    },
    "producers": {
        "replicate_to": "messages for some clusters only",
        "paused": "a paused producer",
        "schema": "schemas",
        "role": "roles",
    },
    "subscriptions": {"acknowledgement_sync": "acknowledgement sync, which no Pulsar has"},
    "consumers": {
        "ack_timeout_us": "an ack timeout",
        "negative_ack_redelivery_backoff": "a backoff of negative acks",
        "batch_index_acknowledgment": "batch index acks that are off",
        "paused": "a paused consumer",
        "schema": "schemas",
        "role": "roles",
    },
}
"""Fields that must have their defaults, and what they would need, by section."""

COMMANDS = {
    "cluster.crash": ("proxy",),
    "cluster.restart": (),
    "link.cut": (),
    "link.partition": (),
    "link.slow": (),
    "link.heal": (),
    "topic.unload": ("broker",),
    "subscription.fail-over": ("probe",),
    "subscription.reset": (),
    "subscription.replicate": (),
    "consumer.start": (),
    "consumer.stop": (),
    "consumer.pause": (),
    "consumer.resume": (),
    "consumer.slow": (),
    "client.kill": (),
    "client.close": (),
    "producer.stop": (),
    "producer.start": (),
}
"""The commands that can be played, with the arguments that must not be given."""

SETTINGS_NEVER = {
    "managedLedgerOffloadDriver": "the rig has no other storage",
    "ttlDurationDefaultInSeconds": "entries carry the instant of the append where message expiry looks",
}
"""Settings that cannot be played, and why."""


def problems(scenario: Scenario, text: str, source: str, version: str) -> list[Problem]:
    """Everything in the scenario that real brokers of this version cannot play here, in file order."""
    root, _problems = read_tree(text, source)
    found = [_placed(root, *one) for one in _found(scenario, version)]
    return sorted(found, key=lambda problem: (problem.line or 0, problem.column or 0))


def _placed(root: Node, path: str, what: str, right: str) -> Problem:
    """The problem at the key of its path, or at the closest part of it that the file contains."""
    node, at_key = root, False
    for step in path.replace("[", ".[").split("."):
        inner: Any = None
        if step.startswith("[") and isinstance(node.value, list):
            inner = node.value[int(step[1:-1])]
        elif isinstance(node.value, dict):
            inner = node.value.get(step)
        if inner is None:
            break
        node, at_key = inner, True
    return node.problem(path, what, right, at_key=at_key)


def _found(scenario: Scenario, version: str) -> Iterator[Found]:
    if not isinstance(scenario, PulsarScenario):
        yield "family", f"{scenario.family} is no family of Pulsar", "choose a scenario of Pulsar"
        return
    for section, what in _SECTIONS.items():
        if getattr(scenario, section):
            yield section, f"{what} cannot be played", "leave the section out"
    yield from _settings(scenario)
    yield from _options(scenario, version)
    if len(scenario.clusters) > CLUSTERS_MAX:
        yield "clusters", f"{len(scenario.clusters)} clusters", f"at most {CLUSTERS_MAX} run on one machine"
    for name, cluster in scenario.clusters.items():
        if cluster.peer_clusters:
            path = f"clusters.{name}.peerClusters"
            yield path, "peer clusters cannot be played", "leave them out"
    yield from _clients(scenario)
    yield from _commands(scenario)


def _settings(scenario: PulsarScenario) -> Iterator[Found]:
    given = [("settings", scenario.settings)]
    given += [(f"clusters.{name}.settings", one.settings) for name, one in scenario.clusters.items()]
    for path, settings in given:
        for name in settings:
            if name in SETTINGS_NEVER:
                what = f"this setting cannot be played: {SETTINGS_NEVER[name]}"
                yield f"{path}.{name}", what, "leave it out"


def _options(scenario: PulsarScenario, version: str) -> Iterator[Found]:
    """Options belong to versions or to the lab alone: the version decides about the cache rule."""
    fixed = options_of(version)
    for name, value in scenario.options.items():
        right = "leave the option out"
        if name == "snapshotCacheRule":
            right = f"use --pulsar {newest_with(value)}, or {right}"
        wanted = fixed.get(name, OPTIONS[name].default)
        if value != wanted:
            words = f"Pulsar {version} behaves as {name}: {_written(wanted)}, not {_written(value)}"
            yield f"options.{name}", words, right


def _written(value: object) -> str:
    """A value as in a scenario file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _clients(scenario: PulsarScenario) -> Iterator[Found]:
    for section, members in _CLIENT_DEFAULTS.items():
        for name, spec in getattr(scenario, section).items():
            defaults = {field.name: field.default for field in fields(spec)}
            for field_name, what in members.items():
                value = getattr(spec, field_name)
                if value != defaults[field_name] and value != {}:
                    key = _yaml_key(section, field_name)
                    yield f"{section}.{name}.{key}", f"{what} cannot be played", "leave it out"
    for section in ("producers", "consumers"):
        for name, spec in getattr(scenario, section).items():
            if spec.cluster is None:
                what = "a client without a cluster uses the LookupService, which cannot be played"
                yield f"{section}.{name}", what, "name its cluster"
    for name, producer in scenario.producers.items():
        if producer.delay and producer.delay.share_millionths:
            yield f"producers.{name}.delay", "a share cannot be played", "name the messages"
    for name, consumer in scenario.consumers.items():
        for key, chosen in (
            ("hold", consumer.hold),
            ("negativeAcknowledge", consumer.negative_acknowledge),
        ):
            if chosen and chosen.share_millionths:
                yield f"consumers.{name}.{key}", "a share cannot be played", "name the messages"
            if chosen and chosen.times != 1:
                what = "the rig acks a message negatively once"
                yield f"consumers.{name}.{key}.times", what, "leave it out"


def _yaml_key(section: str, field_name: str) -> str:
    """The key of a field in a scenario file."""
    keys = next(one for one in shape.sections() if one.name == section).keys
    return next((key.name for key in keys if key.field == field_name), field_name)


def _commands(scenario: PulsarScenario) -> Iterator[Found]:
    for number, spec in enumerate(scenario.commands):
        path = f"commands[{number}]"
        if spec.do not in COMMANDS:
            yield f"{path}.do", f"{spec.do} cannot be played", f"use {', '.join(sorted(COMMANDS))}"
            continue
        for argument in COMMANDS[spec.do]:
            if spec.arguments.get(argument) is not None:
                yield f"{path}.{argument}", "this argument cannot be played", "leave it out"
        if spec.arguments.get("fault") == "host":
            what = "the hosts of all clusters are this machine, so only their processes can fail"
            yield f"{path}.fault", what, "use process, or leave it out, which means process here"
        position = spec.arguments.get("position")
        if spec.do == "subscription.reset" and position not in (None, "earliest", "latest"):
            what = "a broker chooses the numbers of its ledgers, so no position is known before the run"
            yield f"{path}.position", what, "use earliest, latest or time"
