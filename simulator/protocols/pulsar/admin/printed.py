"""JSON as pulsar-admin prints it (Jackson's default pretty printer), as lines with the path of each.

Rules: an object has a line per field, `"name" : value`. A list of objects has one line per bracket pair,
`[ {`, `}, {`, `} ]`. A list of plain values and anything empty is printed on one line. Floats are Java
doubles.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

# --- numbers and instants as Java prints them: Pulsar's tools are Java programs
#
# Rules: a double is printed by `Double.toString` (shortest digits that give the same double, exponents
# outside 1e-3 to 1e7), as Jackson and the Prometheus client do. Pulsar's own metrics writer cuts after
# three decimals. An instant is ISO-8601 in UTC. The simulated clock begins at 1970-01-01T00:00:00Z.


_MS_PER_DAY = 86_400_000
_DAYS_TO_YEAR_ZERO = 719_468  # from 0000-03-01 to 1970-01-01
_ERA_DAYS = 146_097  # days in 400 years


def double(value: float) -> str:
    """`Double.toString`."""
    if value == 0:
        return "0.0"
    digits, exponent = _digits_of(abs(value))
    sign = "-" if value < 0 else ""
    if -3 <= exponent < 7:
        if exponent < 0:
            return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
        digits = digits.ljust(exponent + 2, "0")
        return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{exponent}"


def _digits_of(value: float) -> tuple[str, int]:
    """The shortest digits of a positive double, and the power of ten of the first one."""
    mantissa, _, power = f"{value!r}e0".partition("e")
    power = power.partition("e")[0]
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0")) + 1)
    return digits.rstrip("0") or "0", leading + int(power)


def three_decimals(numerator: int, denominator: int) -> str:
    """A quotient as Pulsar's metrics writer prints a double: cut, not rounded, after three decimals."""
    whole, rest = divmod(numerator, denominator)
    thousandths = rest * 1000 // denominator
    return f"{whole}.{thousandths:03d}" if thousandths else f"{whole}.0"


def instant(at_us: int) -> str:
    """An instant as `DateTimeFormatter.ISO_OFFSET_DATE_TIME` prints it in UTC, to the millisecond.

    Trailing zeros of the fraction are omitted. Seconds are always printed.
    """
    days, ms = divmod(at_us // 1000, _MS_PER_DAY)
    year, month, day = _date(days)
    seconds, fraction = divmod(ms, 1000)
    text = (
        f"{year:04d}-{month:02d}-{day:02d}T{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    )
    return f"{text}.{f'{fraction:03d}'.rstrip('0')}Z" if fraction else f"{text}Z"


def _date(days: int) -> tuple[int, int, int]:
    """(year, month, day) of a day counted from 1970-01-01, in the proleptic Gregorian calendar."""
    era, in_era = divmod(days + _DAYS_TO_YEAR_ZERO, _ERA_DAYS)
    year_of_era = (in_era - in_era // 1460 + in_era // 36_524 - in_era // 146_096) // 365
    in_year = in_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * in_year + 2) // 153
    month = month_from_march + 3 if month_from_march < 10 else month_from_march - 9
    return year_of_era + 400 * era + (month <= 2), month, in_year - (153 * month_from_march + 2) // 5 + 1


Path = tuple[str | int, ...]


class Line(NamedTuple):
    """One printed line.

    `path` names the field it shows, `value` its plain value as printed (None for a bracket).
    """

    text: str
    path: Path
    value: str | None


class Printer:
    """Collects lines."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self._text = ""
        self._path: Path = ()
        self._value: str | None = None

    def print(self, tree: dict[str, Any]) -> list[Line]:
        """The lines of an object."""
        self._write(tree, (), 0)
        self._end_line()
        return self.lines

    def _end_line(self) -> None:
        self.lines.append(Line(self._text, self._path, self._value))
        self._text, self._path, self._value = "", (), None

    def _write(self, value: Any, path: Path, depth: int) -> None:
        if isinstance(value, dict) and value:
            self._object(value, path, depth)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            self._text += "[ "
            for place, item in enumerate(value):
                self._text += ", " if place else ""
                self._object(item, (*path, place), depth)
            self._text += " ]"
        else:
            written = self._value = scalar(value)
            self._text += written

    def _object(self, value: dict[str, Any], path: Path, depth: int) -> None:
        self._text += "{"
        for place, (name, inner) in enumerate(value.items()):
            self._text += "," if place else ""
            self._end_line()
            self._path = (*path, name)
            self._text = f"{'  ' * (depth + 1)}{json.dumps(name, ensure_ascii=False)} : "
            self._write(inner, self._path, depth + 1)
        self._end_line()
        self._text = "  " * depth + "}"


def scalar(value: Any) -> str:
    """A value that is printed on one line."""
    if isinstance(value, float):
        return double(value)
    if isinstance(value, dict):
        return "{ }"
    if isinstance(value, list):
        return f"[ {', '.join(scalar(item) for item in value)} ]" if value else "[ ]"
    return json.dumps(value, ensure_ascii=False)
