"""The changes whose effect "what would have helped" shows for durable shared subscriptions, in an order for reading (`simulator.scenarios.changes` says what one is)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from simulator.scenarios.changes import Change, Changed, CommandLog, given, instead, ordered, without
from simulator.scenarios.model import Distribution, Scenario
from simulator.scenarios.settings import OPTIONS, SETTINGS

REPAIRED = {
    "emqxEdition": "the enterprise edition, where a shared subscription has an effect",
    "secondConnectResponse": "a second connect response tolerated, not fatal",
    "lateProgress": "a late progress leaves a position where it is",
    "resetWhileUnsubscribing": "a borrower that is reset while it unsubscribes stays away",
    "reassignmentTimers": "one timer of reassignment rounds",
    "endOfStream": "the end of a stream frees it, and its leader lives",
    "replayedGeneration": "a generation that was read is not read again",
    "secondRevokeFinished": "a leader that ignores a second revoke-finished",
    "revokeCarriesEpoch": "a revoke carries an epoch, so that a late one is ignored",
}
"""Faults of the code, by option, in words for the value that repairs them."""

REPAIRING = {"secondRevokeFinished": "ignored", "revokeCarriesEpoch": True}
"""The value that repairs, where it is not the option's default."""

SECOND_US = 1_000_000
PING, PATIENCE, DEADLINE = "session_ping_leader_interval", "session_ping_leader_timeout", "leader_borrower_timeout"
HEARTBEAT, CLAIM = "leader_heartbeat_interval", "leader_claim_ttl"


def _repaired(option: str, scenario: Scenario, commands: CommandLog) -> Changed:
    default = OPTIONS[option].default
    wanted = REPAIRING.get(option, default)
    if scenario.options.get(option, default) == wanted or (option in REPAIRING and not _messages_can_be_late(scenario, commands)):
        return None
    options = {name: value for name, value in scenario.options.items() if name != option}
    if wanted != default:
        options = ordered({**options, option: wanted}, OPTIONS)
    return f"repaired-{option}", REPAIRED[option], replace(scenario, options=options), commands


def _messages_can_be_late(scenario: Scenario, commands: CommandLog) -> bool:
    """Whether anything between sessions and leaders takes time: on one node, with nothing delayed by hand, a message is there at once."""
    return len(scenario.nodes) > 1 or any(do in ("protocol.delay", "protocol.duplicate") for do, _arguments, _at_us in given(scenario, commands))


def _patient_leader(scenario: Scenario, commands: CommandLog) -> Changed:
    """A leader that gives nothing on before every borrower that heard nothing has stopped reading."""
    lease_us = _setting(scenario, PING) + _setting(scenario, PATIENCE)
    if _setting(scenario, DEADLINE) > lease_us:
        return None
    words = f"a leader that waits {_words(lease_us + SECOND_US)} for a ping, longer than a session reads on"
    return "patient-leader", words, _with(scenario, {DEADLINE: lease_us + SECOND_US}), commands


def _short_leases(scenario: Scenario, commands: CommandLog) -> Changed:
    """The same from the other side: who hears nothing stops reading before the leader gives its streams on."""
    deadline_us = _setting(scenario, DEADLINE)
    if deadline_us > _setting(scenario, PING) + _setting(scenario, PATIENCE) or deadline_us < 4:
        return None
    each_us = deadline_us * 2 // 5
    words = f"sessions that ping every {_words(each_us)} and wait as long for an answer, so that they stop reading before the leader gives up"
    return "short-leases", words, _with(scenario, {PING: each_us, PATIENCE: each_us}), commands


def _heartbeat(scenario: Scenario, commands: CommandLog) -> Changed:
    return _less(scenario, commands, "heartbeat-faster", HEARTBEAT, 5, "a leader that commits every {now} instead of {was}")


def _claim(scenario: Scenario, commands: CommandLog) -> Changed:
    if _setting(scenario, CLAIM) // 2 <= _setting(scenario, HEARTBEAT):
        return None  # a leader that lives would lose its claim
    return _less(scenario, commands, "claim-shorter", CLAIM, 2, "a dead leader's claim believed for {now} instead of {was}")


def _rounds(scenario: Scenario, commands: CommandLog) -> Changed:
    return _less(scenario, commands, "rounds-faster", "leader_renew_streams_interval", 2, "a reassignment round every {now} instead of {was}")


def _halved(scenario: Scenario, commands: CommandLog) -> Changed:
    """For sessions that die: their streams are given on earlier, at the price of more readers at once when they live."""
    if _setting(scenario, DEADLINE) // 2 <= _setting(scenario, PING) // 2:
        return None  # sessions that live would be given up
    changed = _with(scenario, {name: _setting(scenario, name) // 2 for name in (PING, PATIENCE, DEADLINE)})
    return "leases-halved", "all leases and deadlines half as long", changed, commands


def _chunks(scenario: Scenario, commands: CommandLog) -> Changed:
    size = _setting(scenario, "batch_size")
    return None if size == 1 else ("chunks-of-one", f"chunks of one message instead of up to {size}", _with(scenario, {"batch_size": 1}), commands)


def _prompt(scenario: Scenario, commands: CommandLog) -> Changed:
    kept = without(scenario, commands, "session.pause-acks", "session.resume-acks")
    if kept is None and all(spec.processing == Distribution() and not spec.paused for spec in scenario.sessions.values()):
        return None
    changed, log = kept or (scenario, commands)
    sessions = {name: replace(spec, processing=Distribution(), paused=False) for name, spec in changed.sessions.items()}
    return "prompt-clients", "clients that acknowledge at once", replace(changed, sessions=sessions), log


def _quality(scenario: Scenario, commands: CommandLog) -> Changed:
    if all(spec.qos for spec in (*scenario.publishers.values(), *scenario.sessions.values())):
        return None
    publishers, sessions = ({name: replace(spec, qos=spec.qos or 1) for name, spec in section.items()} for section in (scenario.publishers, scenario.sessions))
    return "quality-1", "quality of service 1 instead of 0", replace(scenario, publishers=publishers, sessions=sessions), commands


def _in_order(key: str, words: str, old: str, new: str, scenario: Scenario, commands: CommandLog) -> Changed:
    changed = instead(scenario, commands, old, new)
    return None if changed is None else (key, words, *changed)


def _spared(key: str, words: str, faults: Sequence[str], scenario: Scenario, commands: CommandLog) -> Changed:
    kept = without(scenario, commands, *faults)
    return None if kept is None else (key, words, *kept)


def _safe_messages(scenario: Scenario, commands: CommandLog) -> Changed:
    """Nothing that leaders and borrowers say is lost, late or doubled, be it by hand or by the links' nature."""
    kept = without(scenario, commands, "protocol.lose", "protocol.delay", "protocol.duplicate")
    if kept is None and not any(link.loss or link.duplication or link.reordering for link in scenario.links.values()):
        return None
    changed, log = kept or (scenario, commands)
    links = {pair: replace(link, loss=None, duplication=None, reordering=None) for pair, link in changed.links.items()}
    return "messages-safe", "nothing lost, delayed or doubled between sessions and leaders", replace(changed, links=links), log


CHANGES: tuple[Change, ...] = (
    *(partial(_repaired, option) for option in REPAIRED),
    _chunks, _prompt, _quality, _patient_leader, _short_leases, _halved, _heartbeat, _claim, _rounds,
    partial(_in_order, "leader-stopped", "leaders stopped in order, not crashed", "leader.crash", "leader.stop"),
    partial(_in_order, "sessions-told", "sessions that disconnect in order, not killed", "session.kill", "session.disconnect"),
    partial(_spared, "nodes-up", "every node up all the time", ("node.crash", "node.restart")),
    partial(_spared, "links-up", "no link cut or slowed", ("link.cut", "link.slow", "link.heal")),
    partial(_spared, "store-up", "a leaders' store that always answers", ("store.fail",)),
    _safe_messages,
)  # fmt: skip


def _setting(scenario: Scenario, name: str) -> int:
    return scenario.settings.get(name, SETTINGS[name].default)


def _with(scenario: Scenario, values: dict[str, Any]) -> Scenario:
    return replace(scenario, settings=ordered({**scenario.settings, **values}, SETTINGS))


def _less(scenario: Scenario, commands: CommandLog, key: str, name: str, times: int, words: str) -> Changed:
    """A span shortened."""
    was_us = _setting(scenario, name)
    if was_us < 2 * times:
        return None
    return key, words.format(now=_words(was_us // times), was=_words(was_us)), _with(scenario, {name: was_us // times}), commands


def _words(us: int) -> str:
    return f"{us / SECOND_US:g} s"
