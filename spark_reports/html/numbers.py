"""Formats numbers, spans, sizes, positions and the names of messages for a report."""

from __future__ import annotations


def seconds(at_us: int | None, digits: int = 3) -> str:
    """An instant or a span in seconds, without unit. None is a dash."""
    return "–" if at_us is None else f"{at_us / 1_000_000:.{digits}f}"


def span(us: int | None) -> str:
    """A span in µs, ms, s or minutes, depending on its length. None is a dash."""
    if us is None:
        return "–"
    if 0 < abs(us) < 1_000:
        return f"{us} µs"
    if abs(us) < 1_000_000:
        return f"{us / 1000:.0f} ms"
    return f"{us / 1_000_000:.2f} s" if abs(us) < 600_000_000 else f"{us / 60_000_000:.1f} min"


def number(value: int | None) -> str:
    """A number with a thin space between thousands. None is a dash."""
    return "–" if value is None else f"{value:,}".replace(",", " ")


def size(count: int) -> str:
    """A number of bytes in the largest unit that keeps it above one."""
    for unit, step in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count} B"


def plural(count: int, one: str, many: str) -> str:
    """The number and its noun."""
    return f"{number(count)} {one if count == 1 else many}"


def message_name(producer: str, sequence_id: int) -> str:
    """A message's name: producer and sequence id."""
    return f"{producer}/{sequence_id}"


def position(place: int | None) -> str:
    """A position as ledger:entry. None is a dash."""
    if place is None:
        return "–"
    ledger, entry = divmod(place + 1, 1 << 32)
    return f"{ledger}:{entry - 1}"
