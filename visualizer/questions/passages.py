"""The window of the space-time diagram: rows of markers and snapshots between two instants, or counts.

Rules: a window is requested by its instants, never by seq. A window with more than `LISTED_ROWS` rows is
answered in bins, so the page's work is bounded however long the run is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from simulator.system.live_rows import Passages
from visualizer.labs.session import Session
from visualizer.labs.work import Work
from visualizer.questions.reading import rows_at

LISTED_ROWS = 2_400
"""Most rows that a diagram shows one by one: about 400 markers in three regions, a few pixels each."""
BINS = 160
"""Parts of a window whose rows are counted: a few pixels each."""
PIECE_ROWS = 65_536
"""Rows read in one slice of a job."""

LANDMARKS_LISTED = 1_000
"""Most faults and failovers that a scrub bar marks; of more, the newest. `stops` get twice as many."""


def passages(session: Session, from_us: int, to_us: int) -> Work:
    """The rows of the window, or bins when there are too many.

    Returns `{from_us, to_us, branch, count, rows}` or `{…, bins: {width_us, counts: {"a -> b": {marker type:
    [number per bin]}}, lost: {"a -> b": […]}}}`.
    """
    world = session.world
    rows = world.protocol.live.passages
    first = world.trace.first_after(from_us - 1)
    last = min(world.seq, world.trace.first_after(to_us))
    seqs: list[int] = []
    for begin in range(first, last, PIECE_ROWS):
        seqs.extend(world.trace.seqs(begin, min(last, begin + PIECE_ROWS), types=rows.listed))
        yield None
    answer: dict[str, Any] = {"from_us": from_us, "to_us": to_us, "branch": world.branch, "count": len(seqs)}
    if len(seqs) <= LISTED_ROWS:
        return {**answer, "rows": (yield from rows_at(world.trace, seqs))}
    counts: dict[str, dict[str, list[int]]] = {}
    lost: dict[str, list[int]] = {}
    width_us = max(1, -(-(to_us - from_us) // BINS))
    for begin in range(first, last, PIECE_ROWS):
        _count(world.trace, rows, begin, min(last, begin + PIECE_ROWS), from_us, width_us, counts, lost)
        yield None
    return {**answer, "bins": {"width_us": width_us, "counts": counts, "lost": lost}}


def landmarks(session: Session) -> Work:
    """The faults and stops of the whole branch, as far as it has run.

    Returns `{branch, seq, rows}`. The protocol declares these types, such as failovers and ended snapshots.
    """
    trace, live = session.world.trace, session.world.protocol.live
    faults = live.all_faults()
    marks: list[int] = []
    stops: list[int] = []
    for begin in range(0, len(trace), PIECE_ROWS):
        end = min(len(trace), begin + PIECE_ROWS)
        marks.extend(trace.seqs(begin, end, types=faults))
        stops.extend(trace.seqs(begin, end, types=live.stops))
        yield None
    seqs = sorted(marks[-LANDMARKS_LISTED:] + stops[-2 * LANDMARKS_LISTED :])
    return {"branch": session.world.branch, "seq": len(trace), "rows": (yield from rows_at(trace, seqs))}


def _count(
    trace: Any,
    rows: Passages,
    first: int,
    last: int,
    from_us: int,
    width_us: int,
    counts: dict,
    lost: dict,
) -> None:
    columns = trace.columns(first, last, names=("at_us", "cluster", "peer", "reason"))
    for name in (*rows.sent, *rows.lost):
        places = np.array(trace.seqs(first, last, types=(name,)), dtype=np.int64) - first
        bins = (columns["at_us"][places] - from_us) // width_us
        keys = [columns[column][places] for column in ("cluster", "peer", "reason")]
        for (cluster, peer, reason), numbers in tallied(trace.names, keys, bins):
            link = f"{cluster} -> {peer}"
            add_bins(
                counts.setdefault(link, {}) if name in rows.sent else lost,
                reason if name in rows.sent else link,
                numbers,
            )


def tallied(
    names: Sequence[str], keys: Sequence[np.ndarray], bins: np.ndarray
) -> Iterator[tuple[tuple[str, ...], list[tuple[int, int]]]]:
    """Count rows per bin for each combination of values in the key columns.

    The columns hold indices into `names`. Yields (key, [(bin, rows)]).
    """
    if not bins.size:
        return
    stacked = np.stack(keys)
    for key in np.unique(stacked, axis=1).T.tolist():
        chosen = bins[np.all(stacked == np.array(key)[:, None], axis=0)]
        places, numbers = np.unique(chosen, return_counts=True)
        yield (
            tuple(names[number] for number in key),
            list(zip(places.tolist(), numbers.tolist(), strict=True)),
        )


def add_bins(into: dict[str, list[int]], name: str, numbers: Sequence[tuple[int, int]]) -> None:
    """Add counts to the bins under a name. Rows at the very end of the window are in the last bin."""
    bins = into.setdefault(name, [0] * BINS)
    for place, number in numbers:
        bins[min(BINS - 1, place)] += number
