"""Pending acks of a consumer's group, one by one or by column.

A batched stretch adds and removes many at a time. Rules: acks keep their form until the other one is needed.
Acks by column are of single messages of one topic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from simulator.kernel.named_tuples import new_tuple
from simulator.protocols.pulsar.client.message_keys import MessageKey
from simulator.trace.registry import NULL
from simulator.trace.row_columns import Column, Which, chosen, joined

if TYPE_CHECKING:
    from simulator.protocols.pulsar.client.message_keys import About, Ack, Place


TOGETHER_MIN = 32
"""Fewer acks are faster one by one."""


class AboutColumns(NamedTuple):
    """The columns that rows about deliveries share, `About`."""

    cluster: Column
    topic: Column
    subscription: Column
    client: Column
    producer: Column
    sequence_id: Column
    ledger: Column
    entry: Column
    batch_index: Column

    @staticmethod
    def of(abouts: Sequence[About]) -> AboutColumns:
        """The same deliveries, by column."""
        return AboutColumns(
            *(np.array(abouts, dtype=np.int64).T if len(abouts) else repeat(NULL, len(AboutColumns._fields)))
        )

    @staticmethod
    def joined(several: Sequence[AboutColumns], counts: Sequence[int]) -> AboutColumns:
        """Concatenate columns, the given count of each."""
        return AboutColumns(*(joined(columns, counts) for columns in zip(*several)))

    def chosen(self, which: Which) -> AboutColumns:
        """A selection of them."""
        return AboutColumns(*(chosen(column, which) for column in self))

    def each(self) -> Iterator[About]:
        """Iterate over them; endless where all are equal."""
        return zip(
            *(column.tolist() if isinstance(column, np.ndarray) else repeat(column) for column in self)
        )

    def one(self, place: int) -> About:
        """One of them."""
        fields = (int(column[place]) if isinstance(column, np.ndarray) else column for column in self)
        return cast("About", tuple(fields))


class AckColumns(NamedTuple):
    """Acks of single messages of one topic, in order.

    Each has its index in the log, the seq of the ack's row, the message number, and the columns that its
    rows share.
    """

    indices: np.ndarray
    seqs: np.ndarray
    messages: np.ndarray
    about: AboutColumns

    @staticmethod
    def of(acks: Sequence[Ack]) -> AckColumns:
        """The same acks, by column."""
        indices, seqs, messages = (
            np.array([ack[field] for ack in acks], dtype=np.int64) for field in (0, 2, 3)
        )
        return AckColumns(indices, seqs, messages, AboutColumns.of([ack[4] for ack in acks]))

    @staticmethod
    def joined(several: Sequence[AckColumns]) -> AckColumns:
        """Concatenate columns."""
        several = [acks for acks in several if len(acks.indices)] or several[:1] or [AckColumns.of(())]
        if len(several) == 1:
            return several[0]
        indices, seqs, messages, abouts = zip(*several)
        about = AboutColumns.joined(abouts, [len(one) for one in indices])
        return AckColumns(np.concatenate(indices), np.concatenate(seqs), np.concatenate(messages), about)

    def chosen(self, which: Which) -> AckColumns:
        """A selection of them."""
        return AckColumns(
            self.indices[which], self.seqs[which], self.messages[which], self.about.chosen(which)
        )

    def by_key(self, place: Place) -> dict[MessageKey, Ack]:
        """The same acks by key, in a topic's place."""
        columns = (column.tolist() for column in self[:3])
        return {
            new_tuple(MessageKey, (place, index, NULL)): (index, NULL, seq, message, about)
            for index, seq, message, about in zip(*columns, self.about.each())
        }


class WaitingAcks:
    """The pending acks, in order.

    First are those added by column, all of single messages of one topic, then the others.
    """

    __slots__ = ("_place", "_several", "_highest", "_later")

    def __init__(self) -> None:
        self._place: Place | None = None
        self._several: list[AckColumns] = []
        self._highest = -1  # index among them
        self._later: dict[MessageKey, Ack] = {}

    def __bool__(self) -> bool:
        return bool(self._several or self._later)

    def __len__(self) -> int:
        count = len(self._later)
        for columns in self._several:
            count += len(columns.indices)
        return count

    def __contains__(self, key: MessageKey) -> bool:
        if key in self._later:
            return True
        if not self._several or key.index > self._highest:  # the usual case
            return False
        place, index, batch_index = key
        return (
            place == self._place
            and batch_index == NULL
            and any((columns.indices == index).any() for columns in self._several)
        )

    def put(self, key: MessageKey, ack: Ack) -> None:
        """Add an ack, or replace the pending one of the same message."""
        if self._several and key in self:
            self._several, self._later = [], self.by_key()
        self._later[key] = ack

    def add(self, place: Place, columns: AckColumns) -> None:
        """Add acks by column, none of which is pending."""
        if self and not self.all_of(place):
            self._several, self._later = [], self.by_key() | columns.by_key(place)
            return
        self._highest = max(self._highest if self._several else -1, int(columns.indices.max()))
        if self._later:
            self._highest = max(self._highest, *(key.index for key in self._later))
            self._several.append(AckColumns.of(list(self._later.values())))
            self._later = {}
        self._place = place
        self._several.append(columns)

    def clear(self) -> None:
        """Remove all."""
        self._several, self._later = [], {}

    def all_of(self, place: Place | None) -> bool:
        """Whether all are of single messages of this topic."""
        return (not self._several or place == self._place) and all(
            key.place == place and key.batch_index == NULL for key in self._later
        )

    @property
    def mostly_of(self) -> Place | None:
        """The topic of the acks by column, if there are many."""
        return self._place if self._several and len(self) >= TOGETHER_MIN else None

    def columns(self) -> AckColumns:
        """All by column; they must be `all_of` one topic."""
        return AckColumns.joined(
            [*self._several, AckColumns.of(list(self._later.values()))] if self._later else self._several
        )

    def by_key(self) -> dict[MessageKey, Ack]:
        """All by key."""
        if self._place is None or not self._several:
            return self._later
        return AckColumns.joined(self._several).by_key(self._place) | self._later
