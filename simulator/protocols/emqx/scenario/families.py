"""The name of the protocol in scenario files, and the families of scenarios that show it."""

from __future__ import annotations

EMQX = "emqx"

FAMILIES = ("durable-shared-subscriptions",)
