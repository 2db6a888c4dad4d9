"""The rules between parts of an EMQX scenario, beyond each key by itself."""

from __future__ import annotations

from simulator.protocols.emqx.scenario.model import SessionSpec
from simulator.protocols.emqx.scenario.mqtt_topics import parse_subscription
from simulator.scenarios.declarations import Check


def check_consistency(check: Check) -> None:
    """Report every problem between parts of the scenario."""
    for session in check.scenario.sessions.values():
        _session(check, session)


def _session(check: Check, session: SessionSpec) -> None:
    """Report an in-memory session that subscribes to a group.

    The proposal leaves this case open, so the lab refuses it.
    """
    for index, text in enumerate(session.subscriptions):
        if not session.durable and parse_subscription(text).group is not None:
            what = (
                "an in-memory session cannot share in a group that durable storage feeds: nothing would "
                "keep its place in a stream"
            )
            check.fail(
                ("sessions", session.name, "subscriptions", index),
                what,
                "make the session durable, or let it subscribe to the filter alone",
            )
