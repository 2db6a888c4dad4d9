"""The scenario as typed, frozen values, which the loader makes and the engine is built from.

Rules: every duration is integer microseconds (`_us`), every size integer bytes, every rate an interval in
microseconds. Mappings keep the order of the file; the engine sorts by name where order matters. The JSON
Schema, the loader's checks and `docs/scenarios.md` come from `shape.py` and, for the sections of a protocol,
from the annotations of its models. A test asserts that `shape.py` and these types cover each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution of durations.

    `kind` is `constant` (value_us), `uniform` (low_us..high_us), `lognormal` (median value_us, sigma) or
    `exponential` (mean value_us). `simulator.kernel.distributions` draws from it, with integers only.
    """

    kind: str = "constant"
    value_us: int = 0  # constant: the value; lognormal: the median; exponential: the mean
    low_us: int = 0
    high_us: int = 0
    sigma_millionths: int = 0  # lognormal shape, times 1,000,000

    @property
    def nominal_us(self) -> int:
        """The configured value: constant value, median, mean, or the middle of the range."""
        return (self.low_us + self.high_us) // 2 if self.kind == "uniform" else self.value_us

    def mean_us(self) -> float:
        """The mean, for estimates and texts; no run depends on it."""
        if self.kind == "lognormal":
            return self.value_us * math.exp((self.sigma_millionths / 1e6) ** 2 / 2)
        return float(self.nominal_us)


@dataclass(frozen=True, slots=True)
class LinkSpec:
    """One directed link; `bandwidth_bytes_per_s` None is unlimited."""

    source: str
    target: str
    latency: Distribution
    bandwidth_bytes_per_s: int | None = None
    loss: int | None = None  # share of messages lost, millionths; None is none
    duplication: int | None = None  # share that arrives twice
    reordering: int | None = None  # share that is late


@dataclass(frozen=True, slots=True)
class Selection:
    """The messages that a fault affects, and for how long.

    `messages` are "producer/number". `share_millionths` draws each message by its own identity. `for_us` None
    is until released. `times`: the deliveries of a message, from the first one, that a negative ack is for.
    """

    messages: tuple[tuple[str, int], ...] = ()
    share_millionths: int = 0
    for_us: int | None = None
    times: int = 1


@dataclass(frozen=True, slots=True)
class CommandSpec:
    """A command of a scenario file.

    `arguments` are as in the file after units were read: durations end in `_us`, links are {"link": "a ->
    b"}.
    """

    at_us: int
    do: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TourCondition:
    """The event at which a step of a tour stops.

    It is the `number`-th row of this type with these columns after the step before.
    """

    type: str
    fields: dict[str, str | int] = field(default_factory=dict)
    number: int = 1


@dataclass(frozen=True, slots=True)
class TourNote:
    """A sentence beside an entry of a log; `position` is a placeholder that the run fills."""

    text: str
    cluster: str
    position: str


@dataclass(frozen=True, slots=True)
class TourQuestion:
    """A question that a step asks; `answer` is a placeholder that the run fills."""

    question: str
    answer: str
    kind: str = "number"
    unit: str = ""
    cluster: str = ""  # in whose log a position lies


@dataclass(frozen=True, slots=True)
class TourStep:
    """A step of a tour: texts with placeholders, and either an instant or an event (`tour.py`)."""

    title: str
    text: str
    at_us: int | None = None
    when: TourCondition | None = None
    highlight: str = ""
    panel: str = ""
    note: TourNote | None = None
    show: tuple[str, ...] = ()  # parts of the page that are shown from this step on
    ask: TourQuestion | None = None


@dataclass(frozen=True, slots=True)
class Tour:
    """A guided tour of a scenario, which changes nothing in its run."""

    title: str
    minutes: int
    steps: tuple[TourStep, ...]
    next: str = ""  # the scenario whose tour follows


_SECTION_NAMES: dict[str, None] = {}
"""The section names of all protocols that have declared a scenario type."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """The fields of all scenarios.

    Each protocol declares a subclass whose fields are its sections.
    """

    name: str
    title: str
    family: str
    until_us: int
    seed: int = 1
    about: str = ""
    watch: str = ""
    recording: str = ""  # digest of the recorded run that is played instead of a simulated one
    settings: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    pair: dict[str, str] = field(
        default_factory=dict
    )  # with, option, name, other; the run does not depend on it
    # every ordered pair, defaults filled in
    links: dict[tuple[str, str], LinkSpec] = field(default_factory=dict)
    commands: tuple[CommandSpec, ...] = ()
    expect: dict[str, Any] = field(default_factory=dict)
    # what is expected under each strategy, by its name
    compare: dict[str, dict[str, Any]] = field(default_factory=dict)
    tour: Tour | None = None  # steps that a page plays; the run does not depend on it
    canonical_text: str = ""  # the scenario as canonical YAML, which a saved lab and a trace file contain

    protocol: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        _SECTION_NAMES.update(dict.fromkeys(name for name in cls.__annotations__ if name != "protocol"))

    def __getattr__(self, name: str) -> dict[str, Any]:
        """A section of another protocol, which is empty here; AttributeError for any other name."""
        if name in _SECTION_NAMES:
            return {}
        raise AttributeError(f"a scenario has no {name}")
