"""The declaration of a setting or option: a name, a default, a kind of value, a sentence.

A protocol may declare profiles: named sets of option values, such as those of a release. Its scenarios choose
one by the option that has the protocol's name; single options override it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.scenarios.limits import LARGEST_COUNT, LONGEST_SETTING_US

_UNITS_US = (("Millis", 1_000), ("Mills", 1_000), ("Seconds", 1_000_000), ("Minutes", 60_000_000))
"""Units in the brokers' names of settings that are a time."""

TIMING, NOMINAL, MEASURED = "timing", "nominal", "measured"
"""The option that stands for several settings at once, and its values."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A named set of values for a protocol's options.

    A protocol's first profile is the default. Its values are the defaults of the options, so it has none
    here; any other lists the values that differ from them.
    """

    name: str
    says: str
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    default: Any
    kind: str  # integer | boolean | choice | duration | distribution | rule
    says: str
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    protocol: str = ""  # the protocol that has it
    dynamic: bool = True  # false: changing it needs a topic unload or cluster restart to take effect
    most: int | None = None  # the largest value, where it is not that of its unit
    measured: Any = None  # its default under the option `timing: measured`, where it is another one
    profiles: Mapping[str, Any] = field(default_factory=dict)  # its value in profiles that have another one

    def default_under(self, options: Mapping[str, Any]) -> Any:
        """Its value in a scenario with these options that does not give it."""
        if self.measured is not None and options.get(TIMING) == MEASURED:
            return self.measured
        return self.profiles.get(options.get(self.protocol, ""), self.default)

    def value_under(self, options: Mapping[str, Any]) -> Any:
        """The value of an option in a scenario with these options."""
        return options[self.name] if self.name in options else self.default_under(options)

    @property
    def maximum(self) -> int | None:
        """The largest whole number that it takes.

        It is `most`, else LONGEST_SETTING_US in the unit of its name, else LARGEST_COUNT.
        """
        if self.kind != "integer" or self.most is not None:
            return self.most
        return next(
            (LONGEST_SETTING_US // unit_us for unit, unit_us in _UNITS_US if unit in self.name), LARGEST_COUNT
        )
