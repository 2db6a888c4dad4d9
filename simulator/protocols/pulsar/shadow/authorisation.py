"""The permissions of roles: a small model of Pulsar's authorisation, sufficient for shadow topics.

Rules: a scenario without roles has authorisation off. With roles, a client acts as its role and needs the
permission on that topic. Permissions on a source give none on its shadows, nor the reverse. Setting a
source's list of shadow topics needs WRITE on the policy SHADOW_TOPIC of the source, which neither produce nor
consume gives. A command without a role is a superuser's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.scenarios.model import Scenario

PRODUCE, CONSUME, SHADOW_TOPIC = "produce", "consume", "shadow_topic_policy"


def refusal(scenario: Scenario, role: str | None, action: str, topic: str) -> str | None:
    """Why a role may not perform an action on a topic, None when it may."""
    if not scenario.roles:
        return None
    if role is None:
        return f"a client without a role may not {_words(action)} {topic}"
    spec = scenario.roles[role]
    if spec.superuser or topic in getattr(spec, action):
        return None
    return f"role {role} may not {_words(action)} {topic}"


def _words(action: str) -> str:
    return (
        "write policy SHADOW_TOPIC of"
        if action == SHADOW_TOPIC
        else action + (" to" if action == PRODUCE else " from")
    )
