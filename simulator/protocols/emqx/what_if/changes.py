"""The changes that "what would have helped" tries for durable shared subscriptions, in reading order.

`simulator.scenarios.canonical` defines a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from simulator.protocols.emqx.commands.declared import LIVE_SETTINGS
from simulator.protocols.emqx.scenario.model import EMQX, EmqxScenario, PublisherSpec, SessionSpec
from simulator.protocols.emqx.scenario.settings import PROPOSAL
from simulator.scenarios.canonical import (
    Change,
    CommandLog,
    PlacedSetting,
    Variant,
    given,
    instead,
    ordered,
    without,
)
from simulator.scenarios.model import CommandSpec, Distribution, Scenario
from simulator.scenarios.settings import OPTIONS, SETTINGS
from simulator.system.measured import Case, Compared, Figure, Price, figure_words, per_second

REPAIRED = {
    "emqxEdition": "the enterprise edition, where a shared subscription has an effect",
    "remoteLeaders": "messages that reach a leader at another node",
    "secondConnectResponse": "a second connect response tolerated, not fatal",
    "lateProgress": "a late progress report does not move a position back",
    "resetWhileUnsubscribing": "a borrower that is reset while it unsubscribes stays away",
    "reassignmentTimers": "a single timer of reassignment rounds",
    "endOfStream": "the end of a stream frees it and does not stop the leader",
    "replayedGeneration": "a generation that was read is not read again",
    "undeclaredElection": "no claim on a group that is not declared",
    "secondRevokeFinished": "a leader that ignores a second revoke-finished",
    "revokeCarriesEpoch": "a revoke carries an epoch, so that a late one is ignored",
}
"""The text of each repaired fault of the code, by option."""

REPAIRING = {"revokeCarriesEpoch": True}
"""The repairing value of an option, where it is not that of the profile `proposal`."""

NEEDED = {
    "resetWhileUnsubscribing": ("session.unsubscribe",),
    "reassignmentTimers": (
        "session.unsubscribe",
        "session.disconnect",
        "node.stop",
    ),
    "endOfStream": ("storage.close-generation",),
    "replayedGeneration": ("storage.close-generation",),
    "undeclaredElection": ("group.destroy",),
}
"""The commands without which a fault has no effect, by option."""

SECOND_US = 1_000_000
PING, PATIENCE, DEADLINE = (
    "session_ping_leader_interval",
    "session_ping_leader_timeout",
    "leader_borrower_timeout",
)
HEARTBEAT, CLAIM = "leader_heartbeat_interval", "leader_claim_ttl"


def _repaired(option: str, scenario: Scenario, commands: CommandLog) -> Variant | None:
    declared = OPTIONS[option]
    wanted = REPAIRING.get(option, declared.default_under({EMQX: PROPOSAL}))
    if declared.value_under(scenario.options) == wanted or not _can_occur(option, scenario, commands):
        return None
    options = {name: value for name, value in scenario.options.items() if name != option}
    if declared.default_under(options) != wanted:
        options = ordered({**options, option: wanted}, OPTIONS)
    changed = replace(scenario, options=options)
    return Variant(f"repaired-{option}", REPAIRED[option], changed, commands, no_setting="release")


def _can_occur(option: str, scenario: Scenario, commands: CommandLog) -> bool:
    """Whether the inputs let a fault of the code have an effect."""
    if option == "remoteLeaders":
        return len({session.node for session in scenario.sessions.values()}) > 1 or "session.connect" in {
            do for do, _arguments, _at_us in given(scenario, commands)
        }
    if option in ("secondConnectResponse", "lateProgress", "secondRevokeFinished", "revokeCarriesEpoch"):
        return _messages_can_be_late(scenario, commands)
    if option not in NEEDED:
        return True
    stops = option == "reassignmentTimers" and any(one.stop_us for one in scenario.sessions.values())
    undeclared = option == "undeclaredElection" and not all(one.declared for one in scenario.groups.values())
    return (
        stops
        or undeclared
        or any(do in NEEDED[option] for do, _arguments, _at_us in given(scenario, commands))
    )


def _messages_can_be_late(scenario: Scenario, commands: CommandLog) -> bool:
    """Whether messages between sessions and leaders can be late.

    On one node, with no message delayed by a command, a message arrives at once.
    """
    return len(scenario.nodes) > 1 or any(
        do in ("protocol.delay", "protocol.duplicate") for do, _arguments, _at_us in given(scenario, commands)
    )


def _patient_leader(scenario: Scenario, commands: CommandLog) -> Variant | None:
    """Let the leader reassign no stream before every borrower without a response has stopped reading."""
    lease_us = _setting(scenario, PING) + _setting(scenario, PATIENCE)
    if _setting(scenario, DEADLINE) > lease_us:
        return None
    words = (
        f"a leader that waits {_words(lease_us + SECOND_US)} for a ping, longer than a session keeps reading"
    )
    return _set("patient-leader", words, scenario, commands, {DEADLINE: lease_us + SECOND_US})


def _short_leases(scenario: Scenario, commands: CommandLog) -> Variant | None:
    """Let a borrower without a response stop reading before the leader reassigns its streams."""
    deadline_us = _setting(scenario, DEADLINE)
    if deadline_us > _setting(scenario, PING) + _setting(scenario, PATIENCE) or deadline_us < 4:
        return None
    each_us = deadline_us * 2 // 5
    words = (
        f"sessions that ping every {_words(each_us)} and wait as long for an answer, so that they stop "
        f"reading before the leader gives up"
    )
    return _set("short-leases", words, scenario, commands, {PING: each_us, PATIENCE: each_us})


def _heartbeat(scenario: Scenario, commands: CommandLog) -> Variant | None:
    return _less(
        scenario,
        commands,
        "heartbeat-faster",
        HEARTBEAT,
        5,
        "a leader that commits every {now} instead of {was}",
    )


def _claim(scenario: Scenario, commands: CommandLog) -> Variant | None:
    if _setting(scenario, CLAIM) // 2 <= _setting(scenario, HEARTBEAT):
        return None  # a running leader would lose its claim
    return _less(
        scenario,
        commands,
        "claim-shorter",
        CLAIM,
        2,
        "a dead leader's claim valid for {now} instead of {was}",
    )


def _rounds(scenario: Scenario, commands: CommandLog) -> Variant | None:
    return _less(
        scenario,
        commands,
        "rounds-faster",
        "leader_renew_streams_interval",
        2,
        "a reassignment round every {now} instead of {was}",
    )


def _halved(scenario: Scenario, commands: CommandLog) -> Variant | None:
    """Halve the leases and deadlines.

    The streams of sessions that die are reassigned earlier. In return, more streams have two readers when a
    dropped session is still running.
    """
    if _setting(scenario, DEADLINE) // 2 <= _setting(scenario, PING) // 2:
        return None  # running sessions would be dropped
    halves = {name: _setting(scenario, name) // 2 for name in (PING, PATIENCE, DEADLINE)}
    return _set("leases-halved", "all leases and deadlines half as long", scenario, commands, halves)


def _chunks(scenario: Scenario, commands: CommandLog) -> Variant | None:
    size = _setting(scenario, "batch_size")
    words = f"chunks of one message instead of up to {size}"
    return None if size == 1 else _set("chunks-of-one", words, scenario, commands, {"batch_size": 1})


def _prompt(scenario: Scenario, commands: CommandLog) -> Variant | None:
    kept = without(scenario, commands, "session.pause-acks", "session.resume-acks")
    if kept is None and all(
        spec.processing == Distribution() and not spec.paused for spec in scenario.sessions.values()
    ):
        return None
    changed, log = kept or (scenario, commands)
    assert isinstance(changed, EmqxScenario)
    sessions = {
        name: replace(spec, processing=Distribution(), paused=False)
        for name, spec in changed.sessions.items()
    }
    return Variant(
        "prompt-clients",
        "clients that acknowledge at once",
        replace(changed, sessions=sessions),
        log,
        no_setting="application",
    )


def _quality(scenario: Scenario, commands: CommandLog) -> Variant | None:
    assert isinstance(scenario, EmqxScenario)
    specs: list[PublisherSpec | SessionSpec] = [*scenario.publishers.values(), *scenario.sessions.values()]
    if all(spec.qos for spec in specs):
        return None
    publishers = {name: replace(spec, qos=spec.qos or 1) for name, spec in scenario.publishers.items()}
    sessions = {name: replace(spec, qos=spec.qos or 1) for name, spec in scenario.sessions.items()}
    places = (("PUBLISH", scenario.publishers), ("SUBSCRIBE", scenario.sessions))
    return Variant(
        "quality-1",
        "QoS 1 instead of 0",
        replace(scenario, publishers=publishers, sessions=sessions),
        commands,
        tuple(
            PlacedSetting("qos", "1", "qos = 1", f"MQTT clients, {packet}")
            for packet, clients in places
            if any(spec.qos == 0 for spec in clients.values())
        ),
    )


def _in_order(
    key: str, words: str, old: str, new: str, scenario: Scenario, commands: CommandLog, **defaults: Any
) -> Variant | None:
    changed = instead(scenario, commands, old, new, **defaults)
    return None if changed is None else Variant(key, words, *changed, no_setting="failure")


def _spared(
    key: str, words: str, faults: Sequence[str], scenario: Scenario, commands: CommandLog
) -> Variant | None:
    kept = without(scenario, commands, *faults)
    return None if kept is None else Variant(key, words, *kept, no_setting="failure")


def _closed_first(scenario: Scenario, commands: CommandLog) -> Variant | None:
    """Let clients close their connection before they open another.

    The leaders are then informed, which they are not of a takeover.
    """
    over = _takeovers(scenario, commands)
    if not over:
        return None
    planned = tuple(
        one
        for spec in scenario.commands
        for one in (
            (CommandSpec(spec.at_us, "session.disconnect", {"session": spec.arguments["session"]}), spec)
            if (spec.at_us, spec.arguments) in over
            else (spec,)
        )
    )
    log = [
        one
        for entry in commands
        for one in (
            ({"at_us": entry["at_us"], "do": "session.disconnect", "session": entry["session"]}, entry)
            if (entry["at_us"], entry) in over
            else (entry,)
        )
    ]
    log = [{**entry, "number": number} for number, entry in enumerate(log)]
    return Variant(
        "closed-first",
        "clients that close their connection before they connect again",
        replace(scenario, commands=planned),
        log,
        no_setting="application",
    )


def _takeovers(scenario: Scenario, commands: CommandLog) -> list[tuple[int, dict[str, Any]]]:
    """The instant and arguments of each `session.connect` of a session that no earlier command ended."""
    ended: dict[str, bool] = {}
    found = []
    for do, arguments, at_us in sorted(given(scenario, commands), key=lambda one: one[2]):
        if do in ("session.kill", "session.disconnect"):
            ended[arguments["session"]] = True
        elif do == "session.connect":
            name = arguments["session"]
            spec = scenario.sessions[name]
            if (
                not ended.get(name)
                and spec.start_us <= at_us
                and (spec.stop_us is None or at_us < spec.stop_us)
            ):
                found.append((at_us, arguments))
            ended[name] = False
    return found


def _evacuated(scenario: Scenario, commands: CommandLog) -> Variant | None:
    """Disconnect the clients of nodes in order before the nodes stop."""

    def wanted(do: str, arguments: dict[str, Any]) -> bool:
        return do == "node.stop" and not arguments.get("evacuate", False)

    if not any(wanted(do, arguments) for do, arguments, _at_us in given(scenario, commands)):
        return None
    planned = tuple(
        replace(spec, arguments={**spec.arguments, "evacuate": True})
        if wanted(spec.do, spec.arguments)
        else spec
        for spec in scenario.commands
    )
    log = [{**entry, "evacuate": True} if wanted(entry["do"], entry) else entry for entry in commands]
    changed = replace(scenario, commands=planned)
    return Variant(
        "nodes-evacuated", "nodes evacuated before they stop", changed, log, no_setting="procedure"
    )


def _safe_messages(scenario: Scenario, commands: CommandLog) -> Variant | None:
    """Keep every message between leaders and borrowers from being lost, late or duplicated.

    This drops the commands and the links' shares.
    """
    kept = without(scenario, commands, "protocol.lose", "protocol.delay", "protocol.duplicate")
    if kept is None and not any(
        link.loss or link.duplication or link.reordering for link in scenario.links.values()
    ):
        return None
    changed, log = kept or (scenario, commands)
    links = {
        pair: replace(link, loss=None, duplication=None, reordering=None)
        for pair, link in changed.links.items()
    }
    return Variant(
        "messages-safe",
        "no message lost, delayed or duplicated between sessions and leaders",
        replace(changed, links=links),
        log,
        no_setting="failure",
    )


CHANGES: tuple[Change, ...] = (
    *(partial(_repaired, option) for option in REPAIRED),
    _chunks,
    _prompt,
    _quality,
    _patient_leader,
    _short_leases,
    _halved,
    _heartbeat,
    _claim,
    _rounds,
    partial(
        _in_order, "leader-stopped", "leaders stopped in order, not crashed", "leader.crash", "leader.stop"
    ),
    partial(
        _in_order,
        "sessions-told",
        "sessions that disconnect in order, not killed",
        "session.kill",
        "session.disconnect",
    ),
    partial(
        _in_order,
        "nodes-stopped",
        "nodes stopped in order, not crashed",
        "node.crash",
        "node.stop",
        evacuate=False,
    ),
    _evacuated,
    _closed_first,
    partial(_spared, "nodes-up", "every node up all the time", ("node.crash", "node.stop", "node.restart")),
    partial(_spared, "links-up", "no link cut or slowed", ("link.cut", "link.slow", "link.heal")),
    partial(_spared, "store-up", "leaders' store always available", ("store.fail",)),
    partial(_spared, "timers-kept", "no timer changed during the run", ("config.update",)),
    _safe_messages,
)


def _setting(scenario: Scenario, name: str) -> int:
    return scenario.settings.get(name, SETTINGS[name].default)


CONFIG_ROOTS = {**dict.fromkeys(LIVE_SETTINGS, "durable_queues"), "batch_size": "durable_sessions"}
"""The root of each setting in EMQX's configuration; a setting without one is a constant of its code."""


def _set(key: str, name: str, scenario: Scenario, commands: CommandLog, values: dict[str, int]) -> Variant:
    """The scenario with other values of settings, each with its path in EMQX's configuration.

    A change of a constant of EMQX's code is a release of its own, not a setting.
    """
    changed = replace(scenario, settings=ordered({**scenario.settings, **values}, SETTINGS))
    if any(setting not in CONFIG_ROOTS for setting in values):
        return Variant(key, name, changed, commands, no_setting="release")
    placed = []
    for setting, value in values.items():
        path = f"{CONFIG_ROOTS[setting]}.{setting}"
        written = _duration(value) if SETTINGS[setting].kind == "duration" else str(value)
        where = "emqx.conf or emqx ctl conf load, cluster-wide"
        placed.append(PlacedSetting(path, written, f"{path} = {written}", where))
    return Variant(key, name, changed, commands, tuple(placed))


def _less(
    scenario: Scenario, commands: CommandLog, key: str, name: str, times: int, words: str
) -> Variant | None:
    """Shorten a duration to one `times`-th."""
    was_us = _setting(scenario, name)
    if was_us < 2 * times:
        return None
    words = words.format(now=_words(was_us // times), was=_words(was_us))
    return _set(key, words, scenario, commands, {name: was_us // times})


def _duration(us: int) -> str:
    """A duration as EMQX's configuration has it."""
    return f"{us // 1000}ms" if us % SECOND_US else f"{us // SECOND_US}s"


def _words(us: int) -> str:
    return f"{us / SECOND_US:g} s"


# --- the comparison of reruns with durable shared subscriptions: each group's figures


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
