"""Reads trace files inside tasks: a task gets all rows of a share of one run's messages.

Rules: whatever compares the rows of one message needs no shuffle then. Rows are in the order of their seq.
Texts stay dictionaries, as they are in a Parquet file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json as pj
import pyarrow.parquet as pq

from simulator.trace.registry import COLUMNS, INTEGER
from spark_reports.read import UNREADABLE_MARK
from spark_reports.scans.columns import NONE, chosen

BATCH_ROWS = 1 << 16
BLOCK_BYTES = 8 << 20
"""Bytes of JSON Lines that are parsed at once."""
TEXT = pa.dictionary(pa.int32(), pa.string())


def by_message(batch: pa.RecordBatch) -> np.ndarray:
    """A number for each row whose remainder is its share: that of its message, 0 for none."""
    return batch.column("sequence_id").fill_null(0).to_numpy()


def by_message_or_all(batch: pa.RecordBatch) -> np.ndarray:
    """The same, but NONE for rows of all types but those of messages: every share has them."""
    of_message = chosen(batch, "type", lambda name: name.startswith("message."))
    return np.where(of_message, by_message(batch), NONE)


class Wanted(NamedTuple):
    """The rows and columns that a scan reads: event types, and columns of integers and of texts.

    With `but`, `types` are the beginnings of the types that it does not read. `number` decides which share
    has a row.
    """

    types: tuple[str, ...]
    integers: tuple[str, ...]
    texts: tuple[str, ...]
    but: bool = False
    number: Callable[[pa.RecordBatch], np.ndarray] = by_message

    @property
    def schema(self) -> pa.Schema:
        """The columns of the rows: `type`, the integers, the texts."""
        return pa.schema(
            [
                ("type", TEXT),
                *((name, pa.int64()) for name in self.integers),
                *((name, TEXT) for name in self.texts),
            ]
        )

    def has(self, kind: str) -> bool:
        """Whether rows of this type are read."""
        return not kind.startswith(self.types) if self.but else kind in self.types


def of_counting(
    types: Collection[str],
    columns: Collection[str],
    number: Callable[[pa.RecordBatch], np.ndarray] = by_message_or_all,
) -> Wanted:
    """The rows of these types for counting a share, with `seq` and these columns."""
    columns = {*columns} - {"type"}
    integers, texts = (
        [name for name in COLUMNS if (COLUMNS[name][0] == INTEGER) == whole and name in columns]
        for whole in (True, False)
    )
    return Wanted(tuple(types), ("seq", *integers), tuple(texts), number=number)


class Scan(NamedTuple):
    """What tasks read, what they do with a share, and the columns that they return.

    `work` takes the run's number, the rows in the order of their seq, and options by name. With `in_shares`
    it takes the run's number, the share's and how many there are, batches of rows as the file has them, and
    options.
    """

    wanted: Wanted
    work: Callable[..., pa.Table]
    schema: pa.Schema
    in_shares: bool = False


class FileScan:
    """A scan of files: pass it to `mapInArrow` of a frame with run, path, share and number of shares.

    Rows of the subscriptions that `hidden` names by run are left out.
    """

    def __init__(self, scan: Scan, options: Mapping[str, Any], hidden: Mapping[int, Sequence[str]]) -> None:
        self.scan, self.options, self.hidden = scan, options, hidden

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from self.of_shares(zip(*(column.to_pylist() for column in batch.columns)))

    def of_shares(self, shares: Iterable[tuple[int, str, int, int]]) -> Iterator[pa.RecordBatch]:
        """What the work makes of some shares."""
        work = self.scan.work
        for run, path, share, number in shares:
            batches = self._batches(path, share, number, self.hidden.get(run, ()))
            if self.scan.in_shares:
                found = work(run, (share, number), batches, **self.options)
            else:
                rows = in_order(pa.Table.from_batches(batches, self.scan.wanted.schema))
                found = work(run, rows, **self.options)
            yield from found.to_batches(BATCH_ROWS)

    def _batches(self, path: str, share: int, shares: int, hidden: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The wanted rows of one share of a file."""
        wanted = self.scan.wanted
        try:
            for batch in _of_lines(path, wanted) if path.endswith(".jsonl") else _of_parquet(path, wanted):
                mine = chosen(batch, "type", wanted.has)
                if shares > 1:
                    numbers = wanted.number(batch)
                    mine &= (numbers == NONE) | (numbers % shares == share)
                if hidden and "subscription" in wanted.texts:
                    mine &= ~chosen(batch, "subscription", lambda name: name in hidden)
                yield batch if mine.all() else batch.take(pa.array(np.flatnonzero(mine)))
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"{UNREADABLE_MARK}{path}: {error}") from error


def _of_parquet(path: str, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    schema, there = wanted.schema, set(pq.read_schema(path).names)
    names = [name for name in schema.names if name in there]
    texts = [name for name in ("type", *wanted.texts) if name in there]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for batch in file.iter_batches(BATCH_ROWS, columns=names, use_threads=False):
            for field in schema:
                if field.name not in there:  # a trace of an older version
                    batch = batch.append_column(field.name, pa.nulls(batch.num_rows, field.type))
            yield batch.select(schema.names).cast(schema)


def _of_lines(path: str, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    plain = pa.schema(
        [(field.name, pa.string() if field.type == TEXT else field.type) for field in wanted.schema]
    )
    parse = pj.ParseOptions(explicit_schema=plain, unexpected_field_behavior="ignore")
    for batch in pj.open_json(path, pj.ReadOptions(block_size=BLOCK_BYTES), parse):
        # the first line is the run that made the trace, and has no type
        yield batch.filter(batch.column("type").is_valid()).cast(wanted.schema)


def in_order(rows: pa.Table) -> pa.Table:
    """The rows by seq, in one chunk, with one dictionary for each text."""
    rows = rows.unify_dictionaries().combine_chunks()
    seqs = rows.column("seq").to_numpy()
    return rows if (seqs[1:] > seqs[:-1]).all() else rows.take(pa.array(np.argsort(seqs)))
