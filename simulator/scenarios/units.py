"""Units in scenario files: text to integers and back, exactly.

Rules: durations are integer microseconds, sizes bytes, rates the microseconds between two messages, shares
millionths. A value that is not a whole number of its smallest unit is refused rather than rounded, except a
rate: a third of a second is not a whole number of microseconds, so its interval is rounded to the nearest.
`parse_x(format_x(n)) == n` for every n.
"""

from __future__ import annotations

import re
from decimal import Decimal

from simulator.scenarios.limits import LONGEST_US
from simulator.scenarios.tree import Wrong

DURATION_UNITS_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000}
SIZE_UNITS_BYTES = {"B": 1, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9}
LARGEST_BYTES = 10**15
MILLIONTHS = 1_000_000
SIGMA_MILLIONTHS_MAX = 10 * MILLIONTHS
"""The greatest sigma of a lognormal, 10: there the outermost draws differ by a factor of 10**32."""

_QUANTITY = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z%]*)\s*")

_DURATION_RIGHT = "write a number with us, ms, s, m or h, such as 40ms or 1.5s"
_SIZE_RIGHT = "write a number with B, KB, MB, GB, KiB or MiB, such as 1KB"
_RATE_RIGHT = "write a number per second, such as 100/s"
_SHARE_RIGHT = "write a percentage from 0% to 100%, such as 1% or 0.5%"


def parse_duration(text: object) -> int:
    """Microseconds of a duration such as "40ms", "1.5s" or "2m"; raises Wrong."""
    return _quantity(text, DURATION_UNITS_US, "duration", _DURATION_RIGHT, LONGEST_US)


def format_duration(duration_us: int) -> str:
    """The shortest exact text: 1500000 -> "1500ms", 60000000 -> "1m", 0 -> "0s"."""
    if duration_us == 0:
        return "0s"
    return _largest_exact(duration_us, DURATION_UNITS_US)


def parse_size(text: object) -> int:
    """Bytes of a size such as "1KB" (1000), "1KiB" (1024) or "2MB"."""
    return _quantity(text, SIZE_UNITS_BYTES, "size", _SIZE_RIGHT, LARGEST_BYTES)


def format_size(size_bytes: int) -> str:
    return "0B" if size_bytes == 0 else _largest_exact(size_bytes, SIZE_UNITS_BYTES)


def parse_rate(text: object) -> int:
    """Microseconds between two messages at a rate such as "100/s", rounded to the nearest, at least 1."""
    number, slash, unit = str(text).partition("/")
    if not isinstance(text, str) or not slash or unit.strip() != "s":
        raise Wrong(f"{_shown(text)} is not a rate", _RATE_RIGHT)
    match = _QUANTITY.fullmatch(number)
    if match is None or match[2] or Decimal(match[1]) == 0:
        raise Wrong(f"{_shown(text)} is not a rate", _RATE_RIGHT)
    interval_us = int((Decimal(1_000_000) / Decimal(match[1])).to_integral_value())
    if not 1 <= interval_us <= LONGEST_US:
        raise Wrong(
            f"{_shown(text)} is out of range",
            f"a rate is at most 1000000/s and at least one in {LONGEST_US // DURATION_UNITS_US['h']} hours",
        )
    return interval_us


def format_rate(interval_us: int) -> str:
    """The text of a rate that is a whole number per second, such as "100/s".

    Raises ValueError for any other: its interval is written as `every`.
    """
    if 1_000_000 % interval_us:
        raise ValueError(f"one in {interval_us} us is not a whole number per second; write it as a duration")
    return f"{1_000_000 // interval_us}/s"


def parse_bandwidth(text: object) -> int:
    """Bytes per second of a bandwidth such as "100MB/s"."""
    size, slash, unit = str(text).partition("/")
    right = "write a size per second, such as 100MB/s"
    if not isinstance(text, str) or not slash or unit.strip() != "s":
        raise Wrong(f"{_shown(text)} is not a bandwidth", right)
    value = _quantity(size, SIZE_UNITS_BYTES, "bandwidth", right, LARGEST_BYTES)
    if value == 0:
        raise Wrong(
            "a bandwidth of 0 carries nothing", "leave it out for unlimited, or cut the link with link.cut"
        )
    return value


def format_bandwidth(bytes_per_s: int) -> str:
    return f"{format_size(bytes_per_s)}/s"


def parse_share(text: object) -> int:
    """Millionths of a percentage: "1%" is 10,000."""
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[2] != "%":
        raise Wrong(f"{_shown(text)} is not a share", _SHARE_RIGHT)
    return _whole(Decimal(match[1]) * 10_000, text, MILLIONTHS, "a share", _SHARE_RIGHT)


def format_share(share_millionths: int) -> str:
    return f"{_plain(Decimal(share_millionths) / 10_000)}%"


def parse_decimal(value: object) -> int:
    """Millionths of a plain number (a distribution's sigma)."""
    right = "write a number from 0 to 10 with at most six decimals, such as 0.3"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Wrong(f"{_shown(value)} is not a number", right)
    return _whole(Decimal(repr(value)) * MILLIONTHS, value, SIGMA_MILLIONTHS_MAX, "the number", right)


def format_decimal(millionths: int) -> float | int:
    whole, rest = divmod(millionths, MILLIONTHS)
    return whole if rest == 0 else millionths / MILLIONTHS


def _quantity(text: object, units: dict[str, int], noun: str, right: str, most: int) -> int:
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        raise Wrong(f"{text} has no unit", right)
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise Wrong(f"{_shown(text)} is not a {noun}", right)
    if match[2] not in units:
        raise Wrong(f"{_shown(text)} has {'an unknown' if match[2] else 'no'} unit", right)
    return _whole(Decimal(match[1]) * units[match[2]], text, most, f"a {noun}", right)


def _whole(value: Decimal, text: object, most: int, noun: str, right: str) -> int:
    if value < 0 or value > most:
        raise Wrong(
            f"{_shown(text)} is out of range for {noun}",
            f"a duration is at most {LONGEST_US // DURATION_UNITS_US['h']}h"
            if noun == "a duration"
            else right,
        )
    if value != value.to_integral_value():
        raise Wrong(f"{_shown(text)} is finer than {noun} can be", "use fewer decimals")
    return int(value)


def _largest_exact(value: int, units: dict[str, int]) -> str:
    name, factor = max(
        ((name, factor) for name, factor in units.items() if value % factor == 0), key=lambda pair: pair[1]
    )
    return f"{value // factor}{name}"


def _plain(value: Decimal) -> str:
    return format(value.normalize(), "f")


def _shown(value: object) -> str:
    text = str(value)
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}…"'
