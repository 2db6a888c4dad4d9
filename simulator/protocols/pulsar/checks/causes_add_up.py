"""The causes of a failover's duplicates and losses add up to its duplicates and losses.

Unlike other checks it reads no rows. It reads the counted failovers, as the summary prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

CLAIM = "The causes of a failover's duplicates and losses add up to its duplicates and losses."

PARTS = (
    # (parts, whole): the parts add up to the whole exactly
    ("by_cause", "duplicates"),
    ("lost_by_cause", "lost"),
)

WITHIN = (
    # (part, whole): the part is at most the whole
    ("lost_recovered", "lost"),
    ("stranded_unprocessed", "stranded"),
    ("stranded_returned", "stranded"),
    ("stranded_missing", "stranded"),
)


def causes_that_do_not_add_up(failovers: Sequence[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """Counted failovers whose figures contradict each other, as (instant, reason).

    Absent figures are not judged.
    """
    for number, failover in enumerate(failovers):
        words = f"failover {number} ({failover['subscription']}, {failover['from']} -> {failover['to']})"
        for parts, whole in PARTS:
            if parts in failover and sum(failover[parts].values()) != failover[whole]:
                named = ", ".join(f"{cause} {count}" for cause, count in failover[parts].items() if count)
                yield (
                    failover["at_us"],
                    f"{words} has {failover[whole]} {whole}, but {parts} holds {named or 'none'}",
                )
        for part, whole in WITHIN:
            if part in failover and not 0 <= failover[part] <= failover[whole]:
                yield failover["at_us"], f"{words} has {failover[whole]} {whole}, but {failover[part]} {part}"
