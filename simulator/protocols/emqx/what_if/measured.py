"""What an experiment measures in a run of groups, and the period with which its faults are moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.emqx.scenario.sections import QUEUE, matches, parse_subscription
from simulator.scenarios.settings import OPTIONS, SETTINGS
from simulator.system.measured import Failure, Flow, Load, Measure, Measured

if TYPE_CHECKING:
    from simulator.protocols.emqx.scenario.model import EmqxScenario, GroupSpec, PublisherSpec, SessionSpec
    from simulator.world import World


SUMS = (
    Measure("duplicates", "duplicates"),
    Measure("redeliveries", "redelivered"),
    Measure("lost", "lost"),
    Measure("reordered", "reordered"),
    Measure("handovers", "handovers"),
    Measure("unowned_us", "time without a reader, sum of streams", "us"),
)
"""Sums over the groups of a run."""

READERS = "clients that reach the leader"
HEARTBEAT = "leader_heartbeat_interval"
FAULTS = {
    "node.crash": "node {node} crashes",
    "node.stop": "node {node} is stopped",
    "leader.crash": "the leader of {group} crashes",
    "leader.stop": "the leader of {group} stops",
    "session.kill": "the session of {session} is killed",
    "session.disconnect": "{session} disconnects",
    "store.fail": "the leaders' store fails",
    "link.cut": "the link {link} is cut",
}


def _of(run: World) -> dict[str, int | None]:
    found = [group.summary() for group in run.counted().groups.values()]
    return {one.name: sum(group[one.name] for group in found) for one in SUMS}


def _period_us(scenario: EmqxScenario) -> int:
    """The time between two commits of a leader: what it has not committed is read again."""
    return scenario.settings.get(HEARTBEAT, SETTINGS[HEARTBEAT].default_under(scenario.options))


def _failures(run: World) -> list[Failure]:
    """The faults that took effect: groups have no failover that would be a row of its own."""
    return [
        Failure(result["at_us"], result["command"])
        for result in run.runtime.command_results
        if result["ok"] and result["command"] in FAULTS
    ]


def _causes(run: World) -> dict[str, int]:
    found: dict[str, int] = {}
    for group in run.counted().groups.values():
        for cause, count in group.by_cause.items():
            found[cause] = found.get(cause, 0) + count
    return found


def _delivering(run: World) -> int:
    return sum(group.pending_repeats > 0 for group in run.counted().groups.values())


def _load(scenario: EmqxScenario) -> Load | None:
    """The load of the clients that read before the fault; a run is not over before the scenario is."""
    group = next(iter(scenario.groups.values()), None)
    if group is None:
        return None
    flows = tuple(
        Flow(one.every_us, one.start_us, one.stop_us, one.count)
        for one in scenario.publishers.values()
        if one.every_us and matches(_topic(one), group.filter)
    )
    rate = sum(flow.rate for flow in flows)
    last_us = max((spec.at_us for spec in scenario.commands), default=0)
    left_s = max(0, scenario.until_us - last_us) / 1e6
    spans_s = [one.processing.mean_us() / 1e6 for one in _reading(scenario, group)]
    if not spans_s or not all(spans_s):
        return Load(rate, None, left_s, flows, READERS)
    return Load(rate, sum(1 / span for span in spans_s), left_s, flows, READERS)


def _topic(publisher: PublisherSpec) -> str:
    return publisher.topic if publisher.topics == 1 else f"{publisher.topic}/0"


def _members(scenario: EmqxScenario, group: GroupSpec) -> list[SessionSpec]:
    """The sessions that subscribe to a group when they connect, in the order of connecting."""
    found = [
        session
        for session in scenario.sessions.values()
        if any(
            (parsed := parse_subscription(text)).filter == group.filter
            and parsed.group == (QUEUE if group.queue else group.group or group.name)
            for text in session.subscriptions
        )
    ]
    return sorted(found, key=lambda session: session.start_us)


def _reading(scenario: EmqxScenario, group: GroupSpec) -> list[SessionSpec]:
    """The members that reach the leader, which is at the node of the first one."""
    members = _members(scenario, group)
    if OPTIONS["remoteLeaders"].value_under(scenario.options) == "reachable":
        return members
    return [one for one in members if one.node == members[0].node]


def _assumed(scenario: EmqxScenario) -> list[str]:
    """Where leaders are, and which sessions do not reach theirs."""
    found = []
    for group in scenario.groups.values():
        members, reading = _members(scenario, group), _reading(scenario, group)
        if len({one.node for one in members}) > 1:
            where = f"The first client of {group.name} connects at {members[0].node}, so its leader is there"
            found.append(f"{where} until that node or the leader fails.")
        if len(reading) < len(members):
            found.append(
                f"In EMQX 5.10 as shipped, a client's messages to a leader at another node never arrive "
                f"(emqx#18143): before the fault {len(reading)} of {len(members)} clients of {group.name} "
                f"read, those at {members[0].node}. Releases 6.0.4, 6.1.4, 6.2.3 and 6.3.0 repair it "
                f"(remoteLeaders: reachable)."
            )
    return found


MEASURED = Measured(
    SUMS,
    _of,
    _period_us,
    FAULTS,
    failures=_failures,
    causes=_causes,
    delivering=_delivering,
    load=_load,
    assumed=_assumed,
    period_says="time between two commits of the leader",
)


# --- the settings that a swarm may choose, with values that reach other branches of the rules


SWARM_SETTINGS: dict[str, tuple] = {
    "leader_heartbeat_interval": ("2s", "5s"),
    "session_ping_leader_interval": ("500ms", "2s"),
    "leader_renew_streams_interval": ("300ms", "3s"),
    "session_find_leader_timeout": ("200ms",),
}
