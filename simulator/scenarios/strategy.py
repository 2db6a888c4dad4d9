"""A strategy: one way of replicating progress, under which a whole scenario can be run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simulator.scenarios.model import Scenario


@dataclass(frozen=True, slots=True)
class Strategy:
    """One strategy: `name` is for commands and links, `title` for headings, `says` is one sentence."""

    name: str
    title: str
    says: str


@dataclass(frozen=True, slots=True)
class StrategyRules:
    """The strategies of a protocol, and what each changes.

    `change` returns the scenario under a strategy, `arguments` a command's arguments, and `obeyed` whether a
    command makes sense under it.
    """

    strategies: tuple[Strategy, ...]
    change: Callable[[Scenario, Any], Scenario]
    arguments: Callable[[str, dict[str, Any], Any], dict[str, Any]]
    obeyed: Callable[[str, Any], bool]
