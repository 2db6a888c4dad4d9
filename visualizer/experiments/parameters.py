"""The parameters that the page offers to vary: those that matter most by hand, the others as declared.

Rules: which parameters a scenario has is found by giving it the first proposed value, since only the loader
decides. The first of the paths that it accepts is the parameter's path. The settings and options that
protocols declare follow, with values around their defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from simulator import Scenario, ScenarioError, format_duration, load_scenario_text, loaded_rules
from simulator.scenarios.settings import OPTIONS, SETTINGS
from visualizer.labs.definitions import read_scenario

COMMANDS_TRIED = 4
"""How many of a scenario's first commands are tried as the failover whose mode is varied."""

FREQUENT, BROKER, MODEL = "Frequently varied", "Broker settings", "Options of the simulator"


DECLARED = {"settings": SETTINGS, "options": OPTIONS}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter: its paths, of which a scenario has one, and proposed values as they are written.

    `cheaper` is the end of the values that costs less, `larger` or `smaller`, or empty.
    """

    name: str
    label: str
    unit: str
    paths: tuple[str, ...]
    values: tuple[str, ...]
    cheaper: str = ""
    group: str = FREQUENT


@dataclass(frozen=True, slots=True)
class Offered:
    """A parameter that a scenario has, with its path there."""

    parameter: Parameter
    path: str

    def described(self) -> dict[str, Any]:
        """The parameter for the page."""
        one = self.parameter
        return {
            "name": one.name,
            "label": f"{one.label}, {one.unit}" if one.unit else one.label,
            "group": one.group,
            "path": self.path,
            "values": ", ".join(one.values),
        }


FREQUENTLY_VARIED = (
    Parameter(
        *("period", "Snapshot period", "ms", ("settings.replicatedSubscriptionsSnapshotFrequencyMillis",)),
        values=("250", "500", "1000", "2000", "5000"),
        cheaper="larger",
    ),
    Parameter(
        *("cache", "Snapshots kept per subscription", ""),
        ("settings.replicatedSubscriptionsSnapshotMaxCachedPerSubscription",),
        values=("3", "10", "30", "100"),
        cheaper="smaller",
    ),
    Parameter(
        *("rule", "Rule of a full snapshot cache", "", ("options.snapshotCacheRule",)),
        values=OPTIONS["snapshotCacheRule"].choices,
    ),
    Parameter(
        *("queue", "Receiver queue", "messages per consumer", ("consumers.*.receiverQueueSize",)),
        values=("10", "100", "1000", "10000"),
        cheaper="larger",
    ),
    Parameter(
        *("latency", "Link latency", "one way", ("links.*.latency", "links.default.latency")),
        values=("5ms", "20ms", "40ms", "100ms"),
    ),
    Parameter(
        *("rate", "Rate of each producer", "messages per second"),
        ("producers.*.rate", "publishers.*.rate"),
        values=("50/s", "100/s", "200/s", "400/s"),
    ),
    Parameter(
        *("every", "Interval between messages of each producer", ""),
        ("producers.*.every", "publishers.*.every"),
        values=("5ms", "10ms", "20ms", "50ms"),
    ),
    Parameter(
        *("processing", "Processing time", "per message"),
        (
            *("consumers.*.processing.median", "consumers.*.processing.mean", "consumers.*.processing"),
            *("sessions.*.processing.median", "sessions.*.processing.mean", "sessions.*.processing"),
        ),
        values=("1ms", "5ms", "10ms", "15ms"),
    ),
    Parameter(
        *("ack-groups", "Acknowledgments sent together after", "", ("consumers.*.acknowledgmentGroupTime",)),
        values=("0s", "50ms", "100ms", "500ms"),
        cheaper="larger",
    ),
    Parameter(
        *("slow-share", "Share of slow acks", "", ("consumers.*.hold.share",)),
        values=("0.1%", "1%", "5%"),
    ),
    Parameter(
        *("replicated", "Subscription state replicated", "", ("subscriptions.*.replicateSubscriptionState",)),
        values=("true", "false"),
    ),
    Parameter(
        *("mode", "Mode of the failover", ""),
        tuple(f"commands[{number}].mode" for number in range(COMMANDS_TRIED)),
        values=("planned", "drained", "crash"),
    ),
)


@lru_cache(maxsize=64)
def offered(text: str) -> tuple[Offered, ...]:
    """The parameters of a scenario. Raises ScenarioError."""
    scenario = read_scenario(text, None)
    found = []
    for parameter in (*FREQUENTLY_VARIED, *_declared(scenario)):
        path = next((path for path in parameter.paths if _accepts(scenario, text, path, parameter)), None)
        if path is not None:
            found.append(Offered(parameter, path))
    return tuple(found)


def _accepts(scenario: Scenario, text: str, path: str, parameter: Parameter) -> bool:
    """Whether the scenario has the path, so that the loader takes a value there."""
    section, _, rest = path.partition(".")
    if section in DECLARED:
        return DECLARED[section][rest].protocol == scenario.protocol
    if rest.startswith("*.") and not getattr(scenario, section, None):
        return False
    try:
        load_scenario_text(text, overrides=((path, parameter.values[-1]),))
    except ScenarioError:
        return False
    return True


def _declared(scenario: Scenario) -> Iterator[Parameter]:
    """Every setting and option of the scenario's protocol that is not offered above."""
    above = {path for one in FREQUENTLY_VARIED for path in one.paths}
    for section, group in (("settings", BROKER), ("options", MODEL)):
        for setting in DECLARED[section].values():
            path = f"{section}.{setting.name}"
            values = _values_around(setting)
            if setting.protocol == scenario.protocol and path not in above and values:
                yield Parameter(setting.name, setting.name, "", (path,), values, group=group)


def _values_around(setting: Any) -> tuple[str, ...]:
    """Values to propose: every choice, or the default with a quarter, a half and twice of it."""
    if setting.kind == "choice":
        return tuple(setting.choices)
    if setting.kind == "boolean":
        return ("true", "false")
    if setting.kind == "rule":
        found = loaded_rules()
        return () if found is None else (setting.default, found.name)
    if setting.kind not in ("integer", "duration") or not setting.default or setting.default < 0:
        return ()
    least = setting.minimum or 0
    values = [setting.default // 4, setting.default // 2, setting.default, 2 * setting.default]
    if setting.maximum is not None:
        values = [value for value in values if value <= setting.maximum]
    distinct = dict.fromkeys(value for value in values if value >= max(least, 1))
    return tuple(format_duration(one) if setting.kind == "duration" else str(one) for one in distinct)
