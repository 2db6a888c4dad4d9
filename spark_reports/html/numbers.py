"""How a report writes numbers, spans, sizes, positions and the names of messages."""

from __future__ import annotations


def seconds(at_us: int | None, digits: int = 3) -> str:
    """An instant or a span in seconds, without unit; a dash for none."""
    return "–" if at_us is None else f"{at_us / 1_000_000:.{digits}f}"


def span(us: int | None) -> str:
    """A span with the unit that reads best."""
    if us is None:
        return "never"
    if 0 < abs(us) < 1_000:
        return f"{us} µs"
    if abs(us) < 1_000_000:
        return f"{us / 1000:.0f} ms"
    return f"{us / 1_000_000:.2f} s" if abs(us) < 600_000_000 else f"{us / 60_000_000:.1f} min"


def number(value: int | None) -> str:
    """With a thin space between thousands; a dash for none."""
    return "–" if value is None else f"{value:,}".replace(",", " ")


def size(count: int) -> str:
    """Bytes in the largest unit that keeps them above one."""
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
    """A place as ledger:entry."""
    if place is None:
        return "–"
    ledger, entry = divmod(place + 1, 1 << 32)
    return f"{ledger}:{entry - 1}"
