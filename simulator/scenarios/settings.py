"""The settings and options of all protocols.

`SETTINGS` have the brokers' own names, `OPTIONS` are the lab's own switches. Each protocol declares its own
(`simulator.protocols.declared`).
"""

from __future__ import annotations

from simulator.protocols.declared import DECLARED
from simulator.scenarios.setting import Setting

SETTINGS: dict[str, Setting] = {
    setting.name: setting for declared in DECLARED.values() for setting in declared.settings
}
OPTIONS: dict[str, Setting] = {
    option.name: option for declared in DECLARED.values() for option in declared.options
}
