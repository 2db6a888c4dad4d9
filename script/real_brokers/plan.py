"""What one run plays: the scenario with its own instants, names on the brokers, requests.

Rules: everything here is a pure function of the scenario, the run's number and what was measured. Draws come
from named streams keyed by the run, so run 17 of a scenario has the same offsets in every batch. The same
changed scenario is played by the brokers and by the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from script.real_brokers.install import newest_with, options_of
from simulator.kernel.distributions import Sampler, interval_sampler
from simulator.kernel.random import draw, stream_key
from simulator.protocols.pulsar.scenario.model import ConsumerSpec, ProducerSpec, PulsarScenario, TopicSpec
from simulator.scenarios import shape
from simulator.scenarios.canonical import canonical_text
from simulator.scenarios.limits import INSTANTS_MAX
from simulator.scenarios.model import CommandSpec, Distribution, Scenario, Selection
from simulator.scenarios.settings import OPTIONS
from simulator.scenarios.tree import Node, Problem, read_tree

# --- what of a scenario can be played on real brokers; all else is named before anything starts
#
# Rules: a scenario is played completely or not at all. All problems are reported at once, each with line
# and column, what cannot be played, and what would be right. What is listed here as playable is what
# `plan.py`, `effects.py` and the Java programs implement; an unknown key, option or argument is never
# ignored.


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


TENANT = "lab"
US_NS = 1_000
DEFAULT_PERIOD_US = 1_000_000
PERIOD_SETTING = "replicatedSubscriptionsSnapshotFrequencyMillis"

SHARED_COMMANDS = (
    "cluster.crash",
    "cluster.restart",
    "link.cut",
    "link.partition",
    "link.heal",
    "link.slow",
)
"""Commands that concern clusters and links, so every run of a batch at the same time."""

KEYS_MAX = 10_000
"""Keys whose partition is given to the client; messages with other keys go where Java's hash puts them."""

BATCH_DELAY_US = 1_000_000
"""The least time after which an incomplete batch is sent: the engine waits until it is complete."""

RUNS_AT_ONCE_MAX = 20
MESSAGES_PER_S = 400
"""What runs that share the clusters publish together by default; more would make a small machine late."""

REPLICATORS_MAX = 40
"""Replicators of runs that share the clusters: a snapshot's markers pass all of a run's."""

DRAWS_IN_TURN = 1_000
"""Draws of a processing time that varies, which a consumer takes in turn."""

FAIL_OVER = "subscription.fail-over"
UNLOAD = "topic.unload"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run: its names on the brokers, and the scenario with its own instants.

    `offset_us` was added to the instants of the commands from number `moved_from` on. `times`: the options of
    a calibration, with which the engine's run is predicted; None where they are measured in the run itself.
    """

    job: str
    label: str  # r017
    scenario: PulsarScenario
    offset_us: int
    moved_from: int
    times: Mapping[str, Distribution | int] | None = None

    @property
    def prefix(self) -> str:
        """The prefix of client names."""
        return f"{self.label}/"

    def local_topic(self, topic: str) -> str:
        """The name of a topic on the brokers, without namespace."""
        return f"{topic}-{self.label}"

    def topic(self, name: str) -> str:
        """The full name on the brokers of a topic or partition of the scenario."""
        base, mark, partition = name.rpartition("-partition-")
        topics = self.scenario.topics
        if name in topics or not mark:
            base, mark, partition = name, "", ""
        return f"persistent://{namespace_of(topics[base])}/{self.local_topic(base)}{mark}{partition}"

    def client(self, name: str) -> str:
        """The name of a client on the brokers."""
        return f"{self.prefix}{name}"

    @property
    def shared(self) -> list[int]:
        """Numbers of the commands that concern all runs of a batch."""
        return [number for number, spec in enumerate(self.scenario.commands) if spec.do in SHARED_COMMANDS]


def namespace_of(topic: TopicSpec) -> str:
    """The namespace for all topics with the same clusters; its replication list is these clusters."""
    return f"{TENANT}/{'-'.join(sorted(topic.clusters))}"


def period_us(scenario: PulsarScenario) -> int:
    """The period of the snapshot controller's timer."""
    return int(scenario.settings.get(PERIOD_SETTING, DEFAULT_PERIOD_US // 1000)) * 1000


def runs_at_once(scenario: PulsarScenario) -> int:
    """The number of runs that share the clusters at the same time without making the brokers late."""
    per_s = sum(1_000_000 // one.every_us for one in scenario.producers.values() if one.every_us)
    count = len(scenario.clusters)
    by_replicators = REPLICATORS_MAX // max(1, count * (count - 1))
    return max(1, min(RUNS_AT_ONCE_MAX, MESSAGES_PER_S // max(1, per_s), by_replicators))


def first_moved(scenario: PulsarScenario) -> int:
    """The number of the first command whose instant is shifted: all later ones are shifted as much.

    It is the first failover or the first command about a cluster or link, and without either the first one.
    """
    order = sorted(range(len(scenario.commands)), key=lambda number: scenario.commands[number].at_us)
    chosen = (FAIL_OVER, *SHARED_COMMANDS)
    found = [number for number in order if scenario.commands[number].do in chosen]
    return next(iter(found or order), 0)


def make_run(scenario: PulsarScenario, number: int, label: str | None = None) -> RunPlan:
    """Run `number` of a scenario, with its own offset, publishing phases and seed."""
    offset_us = 0
    if scenario.commands:
        offset_us = draw(stream_key(scenario.seed, "real-brokers/offset"), number) % period_us(scenario)
    moved_from = first_moved(scenario)
    producers = {
        name: _with_phase(producer, scenario, number) for name, producer in scenario.producers.items()
    }
    played = replace(scenario, commands=tuple(_of_processes(spec) for spec in scenario.commands))
    changed = replace(
        shifted(played, moved_from, offset_us),
        producers=producers,
        seed=scenario.seed + number,
        expect={},
        compare={},
    )
    return RunPlan(scenario.name, label or f"r{number:03d}", written(changed), offset_us, moved_from)


def _of_processes(spec: CommandSpec) -> CommandSpec:
    """A crash as the rig performs it: the broker process is killed, its host runs on."""
    if spec.do != "cluster.crash":
        return spec
    return replace(spec, arguments={**spec.arguments, "fault": "process"})


def with_version(scenario: PulsarScenario, version: str) -> PulsarScenario:
    """The scenario with the engine's options for this version of the brokers."""
    given = {**scenario.options, **options_of(version)}
    return written(replace(scenario, options={name: given[name] for name in OPTIONS if name in given}))


def shifted(scenario: PulsarScenario, first: int, by_us: int) -> PulsarScenario:
    """The scenario with the commands from number `first` on, and the end, later by `by_us`."""
    if not scenario.commands:
        return scenario
    from_us = scenario.commands[first].at_us
    commands = tuple(
        replace(spec, at_us=spec.at_us + by_us) if spec.at_us >= from_us else spec
        for spec in scenario.commands
    )
    return replace(scenario, commands=commands, until_us=scenario.until_us + by_us)


DRIFT = "ackGroupDrift"
"""The option by how much a period of ack groups is longer than configured."""


def as_played(
    plan: RunPlan,
    effects_us: dict[int, int],
    until_us: int,
    times: Mapping[str, Distribution | int] | None = None,
) -> RunPlan:
    """The run with the instants at which its commands took effect, by their numbers.

    `times`: by option, what something took in this run (`times_of_run`). The scenario's own come first.
    """
    commands = tuple(
        replace(spec, at_us=max(0, effects_us.get(number, spec.at_us)))
        for number, spec in enumerate(plan.scenario.commands)
    )
    changed = replace(plan.scenario, commands=commands, until_us=until_us)
    return replace(plan, scenario=with_times(changed, times or {}))


def with_times(scenario: PulsarScenario, times: Mapping[str, Distribution | int]) -> PulsarScenario:
    """The scenario with these durations as options, where it does not have the option itself."""
    given = {**times, **scenario.options}
    return written(replace(scenario, options={name: given[name] for name in OPTIONS if name in given}))


def written(scenario: PulsarScenario) -> PulsarScenario:
    """The scenario with its own canonical text."""
    return replace(scenario, canonical_text=canonical_text(scenario))


def _with_phase(producer: ProducerSpec, scenario: PulsarScenario, number: int) -> ProducerSpec:
    """The producer with its own phase within its interval; Poisson arrivals become a list of instants."""
    if producer.every_us is None or producer.at_us is not None:
        return producer
    key = stream_key(scenario.seed, f"real-brokers/producer/{producer.name}")
    if producer.arrivals == "regular":
        return replace(producer, start_us=producer.start_us + draw(key, number) % producer.every_us)
    intervals = interval_sampler(
        producer.every_us, stream_key(scenario.seed + number, f"poisson/{producer.name}")
    )
    end_us = min(producer.stop_us or scenario.until_us, scenario.until_us)
    limit = INSTANTS_MAX if producer.count is None else min(producer.count, INSTANTS_MAX)
    at_us: list[int] = []
    next_us = producer.start_us + intervals.at(0)
    while next_us < end_us and len(at_us) < limit:
        at_us.append(next_us)
        next_us += intervals.at(len(at_us))
    return replace(producer, at_us=tuple(at_us), every_us=None, start_us=0, count=None, arrivals="regular")


def has_plan(producer: ProducerSpec) -> bool:
    """Whether a producer publishes by itself: another one is never connected, and publishes nothing."""
    return producer.every_us is not None or producer.at_us is not None


def producer_request(
    plan: RunPlan, producer: ProducerSpec, cluster: str, first_sequence: int = 0, from_us: int = 0
) -> tuple[dict[str, Any], int]:
    """The request that connects a producer, and the instant for its request `producer.start`.

    A producer that moved continues with message `first_sequence`, after the instant `from_us` of its move.
    """
    partitions = plan.scenario.topics[producer.topic].partitions
    request: dict[str, Any] = {
        "name": plan.client(producer.name),
        "cluster": cluster,
        "topic": plan.topic(producer.topic),
        "size_bytes": producer.size_bytes,
        "keys": producer.keys,
        "send_timeout_ms": producer.send_timeout_us // 1000,
        "delays": _delays(plan, producer),
        "messages_in_turn": producer.batch,
        "first_sequence": first_sequence,
        "partition_of_key": [
            draw(stream_key(0, "partition"), key) % partitions
            for key in range(min(producer.keys or 0, KEYS_MAX) if partitions else 0)
        ],
    }
    if producer.batch > 1:
        delay_us = max(BATCH_DELAY_US, 2 * producer.batch * (producer.every_us or 0))
        request["batch"] = {"max_messages": producer.batch, "delay_us": delay_us}
    if producer.at_us is not None:
        instants = [
            max(at_us, from_us)
            for at_us in producer.at_us[first_sequence:]
            if producer.stop_us is None or at_us < producer.stop_us
        ]
        return {**request, "instants_ns": [at_us * US_NS for at_us in instants]}, 0
    every_us = producer.every_us or 1
    start_us = producer.start_us
    if from_us:
        start_us = max(start_us, from_us + (every_us if first_sequence else 0))
    count = None if producer.count is None else max(0, producer.count - first_sequence)
    if producer.stop_us is not None:
        until_stop = max(0, -((start_us - producer.stop_us) // every_us))
        count = until_stop if count is None else min(count, until_stop)
    return {**request, "every_ns": every_us * US_NS, "count": count}, start_us


def _delays(plan: RunPlan, producer: ProducerSpec) -> list[dict[str, Any]]:
    return [] if producer.delay is None else [_selected(plan, producer.delay)]


def _selected(plan: RunPlan, selection: Selection) -> dict[str, Any]:
    """A selection of messages, as the Java programs read it."""
    messages = [f"{plan.client(producer)}/{sequence}" for producer, sequence in selection.messages]
    return {"messages": messages, "for_us": selection.for_us}


def processing_us(processing: Distribution, seed: int, name: str) -> int | list[int]:
    """The processing time of a consumer; one that varies is a list of draws that are taken in turn."""
    sampler = Sampler(processing, stream_key(seed, f"real-brokers/processing/{name}"))
    if sampler.constant is not None:
        return sampler.constant
    return [sampler.at(index) for index in range(DRAWS_IN_TURN)]


def consumer_request(plan: RunPlan, consumer: ConsumerSpec, cluster: str) -> dict[str, Any]:
    """The request that subscribes a consumer in a cluster."""
    subscription = plan.scenario.subscriptions[consumer.subscription]
    return {
        "name": plan.client(consumer.name),
        "cluster": cluster,
        "topic": plan.topic(subscription.topic),
        "subscription": subscription.name,
        "type": subscription.type,
        "replicated": subscription.replicate_subscription_state,
        "initial": subscription.initial_position,
        "receiver_queue": consumer.receiver_queue_size,
        "ack_group_us": consumer.acknowledgment_group_time_us,
        "processing_us": processing_us(consumer.processing, plan.scenario.seed, consumer.name),
        "acknowledge": consumer.acknowledge,
        "batch_index_acks": consumer.batch_index_acknowledgment,
        "holds": [] if consumer.hold is None else [_selected(plan, consumer.hold)],
        "negative": (
            [] if consumer.negative_acknowledge is None else [_selected(plan, consumer.negative_acknowledge)]
        ),
        "negative_ack_delay_us": consumer.negative_ack_redelivery_delay_us,
    }


def commands_in_order(plan: RunPlan) -> list[tuple[int, CommandSpec]]:
    """The commands with their numbers, in the order of their instants."""
    return sorted(enumerate(plan.scenario.commands), key=lambda numbered: (numbered[1].at_us, numbered[0]))
