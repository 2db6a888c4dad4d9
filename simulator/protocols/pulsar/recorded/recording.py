"""A recording in memory: all its rows, and what one row says about another.

Rules: it never changes, so every world of a lab shares it. A message or marker on its way is found by pairing
the row that sent it with the row that stored it at the peer. Failovers are counted once, over all rows.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from simulator.counting.results import CountedFailover, CountingError
from simulator.protocols.pulsar.verdicts.count import count_run
from simulator.scenarios.model import Scenario
from simulator.trace.recorded_files import FOLDERS, RecordedFile, damaged, read_rows
from simulator.trace.registry import Vocabulary
from simulator.trace.trace import BLOCK_ROWS, Trace

RECORDINGS_KEPT = 4
"""Recordings that stay in memory, of at most 100 MB each."""

SENT = ("message.replicated", "marker.sent")
ARRIVED = ("message.stored", "marker.stored", "message.deduplicated")


class Recording:
    """The rows of one recorded run.

    - `departures`: the row that sent what a row stored at a peer.
    - `arrivals_us`: when what a row sent was stored at the peer.
    - `batches`: by the first row of an entry with several messages their number.
    - `positions`: by snapshot the positions in the other clusters, by name.
    - `logs`: the (cluster, log) pairs that occur.
    """

    def __init__(self, file: RecordedFile, trace: Trace, failovers: list[CountedFailover]) -> None:
        self.file = file
        self.trace = trace
        self._rows = [
            row
            for first in range(0, len(trace), BLOCK_ROWS)
            for row in trace.tuples(first, first + BLOCK_ROWS)
        ]
        self.instants = array("q", (row[1] for row in self._rows))
        self.failovers = failovers
        self.played = False  # whether all rows have been played once, so that they are known to fit
        self.departures: dict[int, int] = {}
        self.arrivals_us: dict[int, int] = {}
        self.batches: dict[int, int] = {}
        self.positions: dict[int, tuple[tuple[str, int, int], ...]] = {}
        self.logs: dict[tuple[str, str], None] = {}
        self._pair_rows()
        self._count_batches()
        self._collect_positions()
        for row in self._of_types("topic.loaded", "message.stored", "marker.written"):
            self.logs[row["cluster"], row["topic"]] = None

    def _pair_rows(self) -> None:
        on_the_way: dict[tuple[Any, ...], int] = {}
        for row in self._of_types(*SENT, *ARRIVED):
            if row.get("batch_index", 0) or "peer" not in row:
                continue
            thing = (row.get("marker"), row.get("producer"), row.get("sequence_id"))
            if row["type"] in SENT:
                on_the_way[row["cluster"], row["peer"], row["topic"], *thing] = row["seq"]
                continue
            sent = on_the_way.pop((row["peer"], row["cluster"], row["topic"], *thing), None)
            if sent is not None:
                self.departures[row["seq"]] = sent
                self.arrivals_us[sent] = row["at_us"]

    def _count_batches(self) -> None:
        first: dict[tuple[str, str], int] = {}  # (cluster, topic) -> row of the batched entry under way
        for row in self._of_types("message.stored"):
            if "batch_index" not in row:
                continue
            log = row["cluster"], row["topic"]
            if row["batch_index"] == 0:
                first[log] = row["seq"]
            if log in first:
                self.batches[first[log]] = row["batch_index"] + 1

    def _collect_positions(self) -> None:
        found: dict[int, dict[str, tuple[int, int]]] = {}
        for row in self._of_types("snapshot.position"):
            found.setdefault(row["snapshot"], {})[row["peer"]] = (row["to_ledger"], row["to_entry"])
        for snapshot, there in found.items():
            self.positions[snapshot] = tuple((name, *there[name]) for name in sorted(there))

    def next_at_us(self, seq: int) -> int | None:
        """The instant of row `seq`; None after the last row."""
        return self.instants[seq] if seq < len(self.instants) else None

    def values(self, seq: int) -> tuple[int, ...]:
        """A row as it is written to a trace."""
        return self._rows[seq]

    def row(self, seq: int) -> dict[str, Any]:
        """A row with its non-null columns, names as strings."""
        return self.trace.as_dict(seq, self._rows[seq])

    def _of_types(self, *types: str) -> Iterator[dict[str, Any]]:
        codes = [self.trace.vocabulary.code[name] for name in types]
        return (self.row(seq) for seq, values in enumerate(self._rows) if values[0] in codes)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A recording that is asked for; a file that was changed is another one."""

    path: Path
    stamp: tuple[int, int]
    scenario_text: str
    file: RecordedFile = field(compare=False)
    scenario: Scenario = field(compare=False)
    vocabulary: Vocabulary = field(compare=False)


def recording_of(scenario: Scenario, vocabulary: Vocabulary) -> Recording:
    """The recording that a scenario names. Raises RecordingError."""
    file = FOLDERS.find(scenario.recording)
    return _read(_Asked(file.path, file.stamp, scenario.canonical_text, file, scenario, vocabulary))


@lru_cache(maxsize=RECORDINGS_KEPT)
def _read(asked: _Asked) -> Recording:
    trace = read_rows(asked.file, asked.vocabulary)
    try:
        return Recording(asked.file, trace, count_run(trace, asked.scenario).failovers)
    except (AttributeError, CountingError, IndexError, KeyError, TypeError, ValueError) as error:
        raise damaged(asked.path, f"its rows contradict each other ({error})") from error
