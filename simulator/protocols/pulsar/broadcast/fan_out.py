"""Serves audiences in columns: all dispatches before any other event are one batch.

Rules: an event of the clock's queue is due when the next dispatch leaves or the next member is connected at
any broker. It then processes whole instants up to the next event of anything else, the end of the run, or a
bound on rows. It sorts them into one order and writes their rows. In a window only audiences change, so the
place where it is cut changes no row.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

import numpy as np

from simulator.protocols.pulsar.broadcast import rows
from simulator.protocols.pulsar.ranks import FAN_OUT, rank
from simulator.protocols.pulsar.storage import retention

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broadcast.audience import Audience
    from simulator.protocols.pulsar.broadcast.broker import Broker
    from simulator.protocols.pulsar.broadcast.runs import Run
    from simulator.protocols.pulsar.pulsar import Pulsar

ROWS_AT_ONCE = 4_096
"""Approximate number of rows that a window makes, some milliseconds of work.

A run with audiences must not delay the others. An instant with more rows is not cut.
"""


class FanOut:
    """Serves all audiences of a run."""

    def __init__(self, runtime: Pulsar) -> None:
        self.runtime = runtime
        self.rank = rank(FAN_OUT, 0)
        self.audiences: list[Audience] = []
        self.brokers: list[Broker] = []  # those of clusters with audiences, by name
        self.due_us: int | None = None
        self.epoch = 0  # counts scheduled events: an earlier one is stale
        self.flowing = False

    def add(self, audience: Audience) -> None:
        """Serve an existing topic's audience."""
        self.audiences.append(audience)
        for broker in audience.topic.cluster.brokers:
            if broker not in self.brokers:
                self.brokers = sorted((*self.brokers, broker), key=lambda one: one.name)

    def wake(self) -> None:
        """Schedule the event of the next dispatch or connection."""
        if self.flowing:
            return
        instants = [
            queue[0].next_us
            for broker in self.brokers
            for queue in (broker.runs, broker.admissions.blocks)
            if queue
        ]
        next_us = max(min(instants), self.runtime.now_us) if instants else None
        if next_us is not None and (self.due_us is None or next_us < self.due_us):
            self.due_us = next_us
            self.epoch += 1
            self.runtime.schedule(next_us, self.rank, self.flow, self.epoch)

    def flow(self, epoch: int) -> int | None:
        """Run every dispatch and connection that is due; returns how many queue events that replaces."""
        if epoch != self.epoch:
            return None
        self.due_us, self.flowing = None, True
        horizon_us = self._horizon_us()
        slowest = [
            (audience, audience.slowest())
            for audience in self.audiences
            if len(audience.topic.log.ledgers) > 1
        ]
        bordering = [
            (audience, before, audience.border.position(before)[0])
            for audience, before in slowest
            if before is not None
        ]
        parts = self._take(horizon_us)
        if parts:
            items = np.concatenate(parts)
            rows.write(self.runtime, items, self.audiences)
            self.runtime.now_us = int(items[:, rows.AT].max())
            for audience, before, ledger in bordering:
                after = audience.slowest()
                assert after is not None, "it had a slowest member before"
                retention.trim_if_switched(audience.topic, ledger, before, after, self.runtime.seq - 1)
        self.flowing = False
        self.wake()
        return sum(len(part) for part in parts) // _DISPATCHES_PER_EVENT or 1

    def connect_at_once(self, audience: Audience) -> None:
        """Connect every member now."""
        instants = np.full(audience.size, self.runtime.now_us)
        items = rows.connection_items(audience, 0, 0, instants)
        audience.connect(audience.size, instants)
        rows.write(self.runtime, items, [audience])

    # --- how far a batch reaches

    def _horizon_us(self) -> int:
        """The end of the batch: the first instant that is not in it."""
        runtime = self.runtime
        now_us, limit_us = runtime.now_us, runtime.limit_us + 1
        horizon_us = max(
            now_us + 1, limit_us if runtime.next_at_us is None else min(limit_us, runtime.next_at_us)
        )
        horizon_us = min(horizon_us, self._first_needy_us(horizon_us), self._first_border_us(horizon_us))
        while horizon_us > now_us + 1 and (count := self._rows_before(horizon_us)) > 2 * ROWS_AT_ONCE:
            horizon_us = now_us + max(1, (horizon_us - now_us) * ROWS_AT_ONCE // count)
        left = None if runtime.rows_max is None else max(1, runtime.rows_max - runtime.seq)
        return (
            horizon_us
            if left is None or self._rows_before(horizon_us) < left
            else self._end_of_full_instant(left, horizon_us)
        )

    def _end_of_full_instant(self, left: int, horizon_us: int) -> int:
        """The horizon right after the instant of the last row that is still allowed."""
        low, high = self.runtime.now_us + 1, horizon_us
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._rows_before(middle) >= left else (middle + 1, high)
        return high

    def _rows_before(self, horizon_us: int) -> int:
        """Number of rows of dispatches and connections before an instant."""
        found = 0
        for broker in self.brokers:
            for block in broker.admissions.blocks:
                if not (count := block.leaving(horizon_us)):
                    break
                found += count
            for run in broker.runs:
                if not (count := run.leaving(horizon_us)):
                    break
                found += rows.ROWS_EACH * rows.messages_of(run, count)
        return found

    def _first_needy_us(self, horizon_us: int) -> int:
        """Just after the first connection of a member with a backlog: its run is computed only then."""
        for broker in self.brokers:
            for block in broker.admissions.blocks:
                count = block.leaving(horizon_us)
                if not count:
                    break
                needy = block.client.first_needy(block.done, count)
                if needy is not None:
                    horizon_us = min(horizon_us, block.start_us + (needy + 1) * block.step_us + 1)
        return horizon_us

    def _first_border_us(self, horizon_us: int) -> int:
        """Just after the first entry that moves its receivers into another ledger.

        From then on the ledger before it may be deleted.
        """
        for broker in self.brokers:
            for run in broker.runs:
                if not run.leaving(horizon_us):
                    break
                crossing_us = [
                    over_us for place in _crossings(run) if (over_us := run.over_us(place)) >= run.next_us
                ]
                horizon_us = min([horizon_us, *(over_us + 1 for over_us in crossing_us)])
        return horizon_us

    # --- taking items

    def _take(self, horizon_us: int) -> list[np.ndarray]:
        """The items of everything that leaves before the horizon.

        Connections of a broker are before its dispatches.
        """
        parts = []
        for number, broker in enumerate(self.brokers):
            while broker.admissions.blocks and (count := broker.admissions.blocks[0].leaving(horizon_us)):
                block = broker.admissions.blocks[0]
                instants = block.instants(count)
                parts.append(rows.connection_items(block.client, number, block.done, instants))
                block.client.connect(count, instants)
                broker.admissions.admitted(count)
            while broker.runs and (count := broker.runs[0].leaving(horizon_us)):
                run = broker.runs[0]
                instants = run.leave_instants(count)
                parts.append(rows.dispatch_items(run, number, instants))
                run.audience.took(run, count, instants)
                broker.took(run, count)
        return parts


_DISPATCHES_PER_EVENT = 16
"""A dispatch in columns takes about a sixteenth of the time of an event of the queue."""


def _crossings(run: Run) -> list[int]:
    """Places in a run's entries whose entry is the first with data in its ledger.

    The first kept ledger does not count.
    """
    entries, log = run.entries, run.topic.log
    borders = [ledger.first_index for ledger in log.ledgers[1:]]
    entered = bisect_right(borders, entries[0])  # how many of these ledgers begin at or before the run
    places = [place for border in borders[entered:] if (place := bisect_left(entries, border)) < len(entries)]
    if entered and not (log.records.view(borders[entered - 1], entries[0]) >= 0).any():
        places.insert(0, 0)
    return places
