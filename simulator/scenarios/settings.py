"""The settings and options of all protocols.

`SETTINGS` have the brokers' own names, `OPTIONS` are the lab's own switches. Each protocol declares its own
(`simulator.protocols.declared`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.protocols.declared import DECLARED
from simulator.scenarios.setting import MEASURED, TIMING, Setting

SETTINGS: dict[str, Setting] = {
    setting.name: setting for declared in DECLARED.values() for setting in declared.settings
}
OPTIONS: dict[str, Setting] = {
    option.name: option for declared in DECLARED.values() for option in declared.options
}


def measured_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The broker settings that `timing: measured` stands for, with their values; else none."""
    if options.get(TIMING) != MEASURED:
        return {}
    return {name: setting.measured for name, setting in SETTINGS.items() if setting.measured is not None}
