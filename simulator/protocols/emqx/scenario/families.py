"""The name of the protocol in scenario files, and the families of scenarios that show it."""

from __future__ import annotations

EMQX = "emqx"

FAMILIES = ("durable-shared-subscriptions",)

MECHANISMS = {
    "durable-shared-subscriptions": (
        "EMQX assigns the streams of a topic filter to the sessions of a group. One leader grants and "
        "revokes them and stores how far each was read."
    ),
}
"""What each family shows, for the gallery."""
