"""The settings and options of all protocols.

`SETTINGS` have the brokers' own names, `OPTIONS` are the lab's own switches. Each protocol declares its own
(`simulator.protocols.declared`). A protocol with profiles also has an option of its own name, which
chooses one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from simulator.protocols.declaration import Declared
from simulator.protocols.declared import DECLARED
from simulator.scenarios.declarations import MEASURED, TIMING, Setting
from simulator.scenarios.rule_files import BUILT_IN

SETTINGS: dict[str, Setting] = {
    setting.name: setting for declared in DECLARED.values() for setting in declared.settings
}


def _options(protocol: str, declared: Declared) -> Iterator[Setting]:
    """A protocol's options with their values by profile, after the option that chooses a profile."""
    profiles = declared.profiles
    if profiles:
        says = "; ".join(f"`{profile.name}`: {profile.says}" for profile in profiles)
        yield Setting(
            protocol,
            profiles[0].name,
            "choice",
            f"the profile, which gives every option below that the scenario does not give its value. {says}",
            tuple(profile.name for profile in profiles),
            protocol=protocol,
        )
    for option in declared.options:
        values = {one.name: one.values[option.name] for one in profiles if option.name in one.values}
        yield replace(option, profiles=values)


OPTIONS: dict[str, Setting] = {
    option.name: option for name, declared in DECLARED.items() for option in _options(name, declared)
}


RULE = next(name for name, option in OPTIONS.items() if option.kind == "rule")
"""The option that chooses a rule of one's own (`simulator.scenarios.rule_files`)."""


def own_rule(options: Mapping[str, Any]) -> str | None:
    """Name and digest of the rule of one's own that these options choose, None for the built-in one."""
    value = options.get(RULE, BUILT_IN)
    return None if value == BUILT_IN else value


def profile_of(protocol: str, options: Mapping[str, Any]) -> str:
    """The profile that these options choose, "" where the protocol has none."""
    return OPTIONS[protocol].value_under(options) if protocol in OPTIONS else ""


def measured_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """The broker settings that `timing: measured` stands for, with their values; else none."""
    if options.get(TIMING) != MEASURED:
        return {}
    return {name: setting.measured for name, setting in SETTINGS.items() if setting.measured is not None}
