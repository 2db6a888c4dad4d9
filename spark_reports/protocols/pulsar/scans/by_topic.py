"""The messages of each topic, and the least value among some rows of each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from spark_reports.scans.columns import changes, code_of, codes, numbers, order_by
from spark_reports.transforms import NEVER


class TopicMessages:
    """The messages of one topic in a task's rows. `rows` are sorted by message."""

    def __init__(self, rows: pa.Table) -> None:
        self.rows = rows
        self.begins = np.flatnonzero(changes(codes(rows, "producer"), numbers(rows, "sequence_id")))
        self._known: dict[tuple[str, ...], np.ndarray] = {}

    def first(self, value: str, kind: str, column: str | None = None, text: str | None = None) -> np.ndarray:
        """The least value among each message's rows of a type; NEVER where there is none.

        With `column`, only rows with that text in it count.
        """
        asked = (value, kind, str(column), str(text))
        if asked not in self._known:
            chosen = codes(self.rows, "type") == code_of(self.rows, "type", kind)
            if column is not None:
                chosen &= codes(self.rows, column) == code_of(self.rows, column, text)
            self._known[asked] = np.minimum.reduceat(
                np.where(chosen, numbers(self.rows, value), NEVER), self.begins
            )
        return self._known[asked]

    def take(self, messages: np.ndarray) -> pa.Table:
        """Producer and sequence_id of some messages."""
        return self.rows.select(["producer", "sequence_id"]).take(pa.array(self.begins[messages]))


def by_topic(rows: pa.Table) -> dict[str, TopicMessages]:
    """The messages of each topic that has any."""
    rows = rows.take(
        pa.array(order_by(codes(rows, "topic"), codes(rows, "producer"), numbers(rows, "sequence_id")))
    )
    topic = codes(rows, "topic")
    starts = np.flatnonzero(changes(topic))
    names = rows.column("topic").take(pa.array(starts)).to_pylist()
    ends = [*starts[1:].tolist(), rows.num_rows]
    return {
        name: TopicMessages(rows.slice(start, end - start))
        for name, start, end in zip(names, starts.tolist(), ends)
        if name is not None
    }
