"""Fills the placeholders of a tour's texts with the figures of its run.

Rules: `end` is the summary of the finished run, `now` the summary up to the step's instant, `forecast` the
forecast at that instant. Instants and durations are shown with their unit, other numbers in groups of three
digits. A value that is not a number, a text or a list is an error, so that no text shows program code.
"""

from __future__ import annotations

from typing import Any

from simulator.scenarios.expectations import value_at
from simulator.scenarios.settings import SETTINGS
from simulator.scenarios.tour import PLACEHOLDER, POSITIONS
from simulator.world import World

_UNITS = (("Millis", 1_000), ("Mills", 1_000), ("Seconds", 1_000_000), ("Minutes", 60_000_000))


class TourError(ValueError):
    """A tour does not fit its run; the text names the step."""

    def __init__(self, number: int, title: str, what: str) -> None:
        super().__init__(f"Step {number} of the tour, “{title}”: {what}.")


class Figures:
    """The figures of a run that has reached its end, as texts. Each step reads them after `stand`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._end = world.summary()
        self._now: dict[str, Any] | None = None
        self._number, self._title, self._at_us = 0, "", 0
        self._row: dict[str, Any] | None = None

    def stand(self, number: int, title: str, at_us: int, row: dict[str, Any] | None) -> None:
        """Read from now on at the instant and the event of this step."""
        self._number, self._title, self._at_us, self._row, self._now = number, title, at_us, row, None

    def filled(self, text: str) -> str:
        """A text with its placeholders filled in. Raises TourError."""
        return PLACEHOLDER.sub(lambda match: self.shown(match[1]), text)

    def shown(self, placeholder: str) -> str:
        """The value of a placeholder as text. Raises TourError."""
        try:
            return shown(placeholder, self._value(placeholder))
        except LookupError as error:
            raise TourError(self._number, self._title, f"{{{placeholder}}}: {error.args[0]}") from None

    def _value(self, placeholder: str) -> Any:
        root, _dot, rest = placeholder.partition(".")
        if root == "at":
            return self._at_us
        if root == "row":
            return self._of_row(rest)
        if root == "setting":
            return self._setting(rest)
        if root == "end":
            return value_at(self._end, rest)
        self._go()
        if root == "now":
            if self._now is None:
                self._now = self._world.summary()
            return value_at(self._now, rest)
        subscription, cluster, figure = rest.split(".")
        return value_at(self._world.forecast(subscription), f"{cluster}.{figure}")

    def _go(self) -> None:
        if self._world.now_us != self._at_us:
            self._world.seek(at_us=self._at_us)

    def _of_row(self, name: str) -> Any:
        row = self._row or {}
        if name in POSITIONS:
            ledger, entry = POSITIONS[name]
            return f"{row[ledger]}:{row[entry]}"
        if name == "message":
            return f"{row['producer']}/{row['sequence_id']}"
        if name not in row:
            raise LookupError(f"the event has no {name}")
        return row[name]

    def _setting(self, name: str) -> Any:
        scenario, setting = self._world.scenario, SETTINGS[name]
        value = scenario.settings.get(name, setting.default_under(scenario.options))
        unit_us = next((unit_us for unit, unit_us in _UNITS if unit in name), None)
        if setting.kind == "duration":
            unit_us = 1
        return value if unit_us is None or not isinstance(value, int) else duration(value * unit_us)


def shown(path: str, value: Any) -> str:
    """A value as text; a name in its path says whether it is a duration. Raises LookupError."""
    if isinstance(value, (bool, dict)) or value is None:
        raise LookupError(f"its value is {value!r}, not a number or a text")
    if isinstance(value, list):
        return str(len(value))
    if isinstance(value, str):
        return value
    if path == "at" or any(name.endswith("_us") for name in path.split(".")):
        return duration(value)
    return f"{value:,}"


def duration(value_us: int) -> str:
    """A duration or an instant for reading: 80 ms, 5.3 s; from a second on in whole milliseconds."""
    value_us = value_us if value_us < 1_000_000 else round(value_us, -3)
    if 0 < value_us < 1_000:
        return f"{value_us} us"
    unit, size = ("ms", 1_000) if 0 < value_us < 1_000_000 else ("s", 1_000_000)
    whole, rest = divmod(value_us, size)
    digits = f"{rest:0{len(str(size)) - 1}d}".rstrip("0")
    return f"{whole:,}{'.' + digits if digits else ''} {unit}"
