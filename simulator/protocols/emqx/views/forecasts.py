"""The forecast of a leader's crash: what would be delivered again after an acknowledgement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.emqx.stream_progress import group_progress

if TYPE_CHECKING:
    from simulator.protocols.emqx.runtime import Emqx
    from simulator.protocols.emqx.scenario.model import EmqxScenario

LEADER = "leader"
"""What a forecast is for: a group has no target, its leader is replaced."""


def movable(scenario: EmqxScenario) -> list[str]:
    """Groups whose leader can crash: all, sorted."""
    return sorted(scenario.groups)


def to_targets(runtime: Emqx, group: str, source: str | None) -> dict[str, dict[str, int]]:
    """By `leader` what its crash would cost now; nothing while no leader has the claim.

    `duplicates` are acknowledged messages after the committed position, `redeliveries` the delivered ones.
    """
    if group not in runtime.groups:
        return {}
    leader = group_progress(runtime, group, 0)["repeats"]["leader"]
    if leader is None:
        return {}
    duplicates = leader["acknowledged"]
    return {LEADER: {"duplicates": duplicates, "redeliveries": leader["again"] - duplicates}}
