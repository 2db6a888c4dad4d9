"""The parts of a trace's rows: columns, event types, and the vocabulary of a set of event types.

Rules: event types are past tense, `subject.verb`. A field is one of `COLUMNS`. A row in memory is the tuple
`(type code, at_us, cause_seq, *fields)` with the fields in the declared order, integers only. Names
(clusters, topics, subscriptions, clients, reasons, texts) are numbers in the trace's name table; in files
they are strings. A missing value is `NULL`. An event is declared by the method that writes its row (`Rows`).
Events that all protocols share are in `shared_events.py`. Each protocol declares its own in its `events.py`;
`simulator.protocols.registry` joins them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import numpy as np

if TYPE_CHECKING:
    from simulator.system.system import System

NULL = -(1 << 62)
"""The integer for "no value" in memory; files hold a real null."""

NAME, INTEGER = "name", "integer"

COLUMNS: dict[str, tuple[str, str]] = {
    # column: (kind, description)
    "at_us": (INTEGER, "simulated instant, microseconds from the start of the run"),
    "type": (NAME, "event type"),
    "cause_seq": (INTEGER, "seq of the last event that was needed for this one"),
    "cluster": (NAME, "cluster where it happened"),
    "peer": (NAME, "the other cluster: destination, origin or the one that answered"),
    "topic": (NAME, "topic or partition (`orders`, `orders-partition-0`)"),
    "subscription": (NAME, "subscription"),
    "client": (NAME, "consumer or producer that acted"),
    "producer": (NAME, "message identity, first half: producer name"),
    "sequence_id": (INTEGER, "message identity, second half: sequence id, from 0"),
    "ledger": (INTEGER, "position in `cluster`'s log: ledger"),
    "entry": (INTEGER, "position in `cluster`'s log: entry (-1 is before the first)"),
    "to_ledger": (INTEGER, "second position: ledger"),
    "to_entry": (INTEGER, "second position: entry"),
    "batch_index": (INTEGER, "index within a batched entry; null when the entry holds one message"),
    "key": (INTEGER, "message key number"),
    "count": (INTEGER, "an amount; the event defines its unit"),
    "size_bytes": (INTEGER, "bytes of the entry or message"),
    "duration_us": (INTEGER, "a span of simulated time"),
    "snapshot": (INTEGER, "snapshot number, from 1 in the run"),
    "marker": (INTEGER, "marker number, from 1 in the run; the same in every cluster"),
    "reason": (NAME, "a word from a closed list: marker type, why, mode, state"),
    "detail": (NAME, "a sentence or canonical text for readers; never parsed"),
    "evidence_seq": (INTEGER, "seq of the row that this one rests on, beside its cause"),
    "broker": (NAME, "a broker of `cluster`, where the scenario declares them"),
    "tenant": (NAME, "tenant, whose clients the LookupService sends to its cluster"),
}

FIRST_COLUMNS = 24
"""The number of columns whose absence from a block is marked in the digest.

A column added later is in the digest only where it has a value, so that runs without it keep their digest.
"""


@dataclass(frozen=True, slots=True)
class EventType:
    """One declared event type.

    `fields` are the columns after at_us, type and cause_seq, in row order.
    """

    code: int
    name: str
    fields: tuple[str, ...]
    plane: str  # "control" (a step of the diagram by default) or "data" (one row per message)
    says: str


# --- the methods that write rows

NameNumber = int
"""The number of a name in the trace."""

Name = str | NameNumber | None
"""A name as text, which the writer numbers, as its number, or None for no value."""

Position = tuple[int, int]
At = Annotated[Position, "ledger entry"]
To = Annotated[Position, "to_ledger to_entry"]
"""An argument that is several columns: a tuple of their integers."""

_Ids = tuple[NameNumber, NameNumber, NameNumber, NameNumber, NameNumber, int, int, int, int]
About = Annotated[
    _Ids,
    "cluster topic subscription client producer sequence_id ledger entry batch_index",
]
"""The columns of most rows about a message of a subscription; `batch_index` is NULL for a single message."""


class Rows:
    """Writes the rows of a system: subclasses declare each event by the method that writes it.

    A method has the decorator `control` or `data`, and its name is that of the event: `cursor_moved` writes
    `cursor.moved`. It takes the seq of the row's cause and the event's columns by keyword, in row order, and
    returns the row's seq. Its body is made from the annotations: a `Name` is numbered, `None` is NULL, a
    tuple annotated with columns is unpacked, any other value is written as it is.

    While the rows exist already, `out` is an object whose `append` only counts them.
    """

    __slots__ = ("system", "out")

    events: ClassVar[tuple[EventType, ...]] = ()
    """The events that this class declares, without those of its base class."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.out: Any = system.trace

    def __init_subclass__(cls) -> None:
        declared = [method for method in vars(cls).values() if hasattr(method, "declares")]
        made: dict[str, Any] = {"NULL": NULL}
        columns = [_columns(method) for method in declared]
        exec("\n".join(map(_source, declared, columns)), made)
        for method in declared:
            setattr(cls, method.__name__, made[method.__name__])
        cls.events = tuple(map(_event, declared, columns))


_Writer = TypeVar("_Writer", bound=Callable[..., int])


def control(code: int, says: str) -> Callable[[_Writer], _Writer]:
    """Declare an event of the control plane: a step of the diagram by default."""
    return _declares(code, "control", says)


def data(code: int, says: str) -> Callable[[_Writer], _Writer]:
    """Declare an event of the data plane: one row per message."""
    return _declares(code, "data", says)


def _declares(code: int, plane: str, says: str) -> Callable[[_Writer], _Writer]:
    def mark(method: Any) -> Any:
        method.declares = (code, plane, says)
        return method

    return mark


def _columns(method: Any) -> dict[str, tuple[str, ...]]:
    """The column, or columns, of each parameter after the cause."""
    columns: dict[str, tuple[str, ...]] = {}
    for name, annotation in method.__annotations__.items():
        if name not in ("cause", "return"):
            several = getattr(method.__globals__.get(annotation), "__metadata__", None)
            if annotation not in _VALUES and several is None:
                raise TypeError(
                    f"{method.__name__}: {name} is {annotation}; a column is {', '.join(_VALUES)}, or "
                    "several in an Annotated tuple"
                )
            columns[name] = several[0].split() if several else (name,)
    return columns


def _event(method: Any, columns: dict[str, tuple[str, ...]]) -> EventType:
    code, plane, says = method.declares
    fields = tuple(name for several in columns.values() for name in several)
    return EventType(code, method.__name__.replace("_", ".", 1).replace("_", "-"), fields, plane, says)


_VALUES = {
    "Name": "number({0})",
    "NameNumber": "{0}",
    "int": "{0}",
    "int | None": "NULL if {0} is None else {0}",
}
"""How a writer writes an argument, by its annotation; a tuple of several columns is unpacked first."""

_ROW = """
def {name}(self, cause{parameters}):
    system = self.system{before}
    row = ({code}, system.now_us, cause, {values})
    out = self.out{end}
"""

_CONTROL = """
    return out.append(row)"""

_DATA = """
    seq = out.length
    if seq == out.folds_after:
        return out.append(row)
    out.length = seq + 1
    out.add_code({code})
    out.add_values[{code}](row)
    return seq"""
"""A writer of the data plane is called for each message: it does what `Trace.append` does, without a call."""


def _source(method: Any, columns: dict[str, tuple[str, ...]]) -> str:
    """The definition of a writer."""
    code, plane, _says = method.declares
    hints = method.__annotations__
    before = ["number = system.name"] if "Name" in hints.values() else []
    before += [f"{', '.join(several)} = {name}" for name, several in columns.items() if len(several) > 1]
    values = [_VALUES.get(hints[name], "{0}").format(", ".join(several)) for name, several in columns.items()]
    return _ROW.format(
        name=method.__name__,
        code=code,
        parameters=", *, " + ", ".join(columns) if columns else "",
        before="".join(f"\n    {line}" for line in before),
        values=", ".join(values),
        end=(_DATA if plane == "data" else _CONTROL).format(code=code),
    )


def pattern_of(codes: Iterable[int]) -> re.Pattern[bytes]:
    """The pattern for `Trace.has_any` that matches any row of the event types with these codes.

    It is faster than reading columns for the few rows of one instant.
    """
    return re.compile(b"[" + b"".join(re.escape(bytes([code])) for code in codes) + b"]", re.DOTALL)


NAME_COLUMNS: tuple[str, ...] = tuple(
    name for name, (kind, _) in COLUMNS.items() if kind == NAME and name != "type"
)

LARGEST_CODE = 255
"""A type code is kept in one byte of a trace (`OpenRows.codes`)."""


class Vocabulary:
    """The event types that the rows of a trace may have, checked, by code and by name.

    `types` has an entry for each code up to the largest; one that is not declared has no name and no fields.
    Raises ValueError for a code or name that is declared twice, and for an event that no row can hold.
    """

    def __init__(self, events: Iterable[EventType]) -> None:
        self.events: tuple[EventType, ...] = tuple(sorted(events, key=lambda event: event.code))
        self.by_name: dict[str, EventType] = {event.name: event for event in self.events}
        self.code: dict[str, int] = {event.name: event.code for event in self.events}
        by_code = {event.code: event for event in self.events}
        for event in self.events:
            _check(event)
            if by_code[event.code] is not event or self.by_name[event.name] is not event:
                raise ValueError(f"event {event.code} {event.name}: its code or its name is declared twice")
        size = self.events[-1].code + 1 if self.events else 0
        self.types: tuple[EventType, ...] = tuple(
            by_code.get(code) or EventType(code, "", (), "data", "") for code in range(size)
        )
        self.row_columns: tuple[tuple[str, ...], ...] = tuple(
            ("type", "at_us", "cause_seq", *event.fields) for event in self.types
        )
        """The column of each integer of a row, by type code."""
        self.row_widths: tuple[int, ...] = tuple(len(columns) for columns in self.row_columns)
        self.control_mask = self.mask(event.code for event in self.events if event.plane == "control")

    def mask(self, codes: Iterable[int]) -> np.ndarray:
        """For each type code whether it is one of these.

        A look-up in it costs a tenth of `np.isin` for the few rows of a frame.
        """
        mask = np.zeros(len(self.types), dtype=bool)
        mask[list(codes)] = True
        return mask


def _check(event: EventType) -> None:
    unknown = [name for name in event.fields if name not in COLUMNS]
    if unknown:
        raise ValueError(f"event {event.name}: {', '.join(unknown)} is not in COLUMNS")
    if event.plane not in ("control", "data"):
        raise ValueError(f"event {event.name}: its plane is control or data, not {event.plane}")
    if not 0 <= event.code <= LARGEST_CODE:
        raise ValueError(f"event {event.name}: its code is not between 0 and {LARGEST_CODE}")


@dataclass(frozen=True, slots=True)
class WordTable:
    """Words of a closed list that rows use, for `docs/trace.md`: a heading, a sentence, heads and rows."""

    title: str
    says: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str | int, ...], ...]
