"""What a setting or option is: a name, a default, a kind of value, a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simulator.scenarios.families import PULSAR


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    default: Any
    kind: str  # integer | boolean | choice | duration
    says: str
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    protocol: str = PULSAR
    dynamic: bool = True  # false: changing it needs a topic unload or cluster restart to take effect
