"""Traces of one shared group written by hand, row by row, without an engine.

Rules: the group is `g` with the filter `t/#`. Time only moves by `at`. Every method writes exactly the rows
that it names and returns the seq of the last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from simulator.protocols.emqx.events import BY_NAME, VOCABULARY
from simulator.protocols.emqx.scenario.model import EmqxScenario, PublisherSpec, SessionSpec
from simulator.protocols.emqx.verdicts.group_history import GroupHistory, Histories, StreamHistory
from simulator.protocols.emqx.verdicts.groups import CountedGroup, count_groups
from simulator.trace.registry import NAME_COLUMNS, NULL
from simulator.trace.trace import Trace

G, STREAM = "g", "0/1/t/a"
ADA, BEN, CYD = "ada", "ben", "cyd"


class GroupTrace:
    """A trace under construction; `qos` is the quality of service of publishers and sessions, 1 if absent."""

    def __init__(self, start_us: int = 0, opened: Iterable[str] = (STREAM,), **qos: int) -> None:
        self.trace = Trace(VOCABULARY)
        self.now_us = 0
        self.offsets: Counter[str] = Counter()
        self.scenario = EmqxScenario(
            name="by-hand",
            title="By hand",
            family="durable-shared-subscriptions",
            until_us=60_000_000,
            publishers={name: PublisherSpec(name, "t", qos=qos.get(name, 1)) for name in ("p", "q")},
            sessions={name: SessionSpec(name, "n", qos=qos.get(name, 1)) for name in (ADA, BEN, CYD)},
        )
        for name in opened:
            self.row("stream.opened", topic=name)
        self.declare(start_us)

    def at(self, at_us: int) -> GroupTrace:
        assert at_us >= self.now_us, "time goes forward"
        self.now_us = at_us
        return self

    def row(self, event: str, cause: int = NULL, **fields: int | str) -> int:
        """One row; names as strings, what is not given is null."""
        declared = BY_NAME[event]
        assert not set(fields) - set(declared.fields), f"{event} has not all of {set(fields)}"
        values = [
            # a string of its own, as in a trace that was read from a file
            self.trace.intern(str(fields[name]).encode().decode())
            if name in NAME_COLUMNS and name in fields
            else fields.get(name, NULL)
            for name in declared.fields
        ]
        self.trace.append((declared.code, self.now_us, cause, *values))
        return len(self.trace) - 1

    # --- the group

    def declare(self, start_us: int = 0, asked: str = "$share/g/t/#") -> int:
        return self.row("group.declared", subscription=G, duration_us=start_us, detail=asked)

    def found(self, entry: int = 0, leader: int = 1, stream: str = STREAM) -> int:
        return self.row("stream.found", subscription=G, topic=stream, entry=entry, count=leader)

    def decide(self, client: str, state: str = "granting", borrower: int = 0) -> int:
        return self.row(
            "assignment.changed", subscription=G, client=client, topic=STREAM, count=borrower, reason=state
        )

    def lease(self, client: str, state: str = "granted", borrower: int = 0, leader: int = 1) -> int:
        return self.row(
            "lease.changed",
            subscription=G,
            client=client,
            topic=STREAM,
            count=borrower,
            entry=0,
            reason=state,
            ledger=leader,
        )

    def saved(self, to: int, client: str = ADA, leader: int = 1) -> int:
        """A progress that the leader took; NULL is the end of the stream."""
        return self.row(
            "progress.saved", subscription=G, client=client, topic=STREAM, entry=0, to_entry=to, count=leader
        )

    # --- messages

    def store(self, *numbers: int, producer: str = "p", client: int = 0, stream: str = STREAM) -> int:
        for number in numbers:
            self.row("message.published", producer=producer, sequence_id=number, key=client)
            offset = self.offsets[stream]
            self.row("message.stored", topic=stream, producer=producer, sequence_id=number, entry=offset)
            self.offsets[stream] += 1
        return len(self.trace) - 1

    def fetch(self, client: str, first: int, after: int, reason: str = "fetched", borrower: int = 0) -> int:
        return self.row(
            "chunk.fetched",
            subscription=G,
            client=client,
            topic=STREAM,
            count=borrower,
            entry=first,
            to_entry=after,
            reason=reason,
        )

    def deliver(self, chunk: int, client: str, *offsets: int, stream: str = STREAM) -> int:
        for offset in offsets:
            self.row("message.delivered", chunk, subscription=G, client=client, topic=stream, entry=offset)
        return len(self.trace) - 1

    def ack(self, client: str, *offsets: int) -> int:
        for offset in offsets:
            self.row("message.acknowledged", subscription=G, client=client, topic=STREAM, entry=offset)
        return len(self.trace) - 1

    # --- what is counted

    def counted(self, upto_seq: int | None = None) -> CountedGroup:
        return count_groups(self.trace, self.scenario, upto_seq).groups[G]

    def history(self, upto_seq: int | None = None) -> GroupHistory:
        (group,) = Histories(self.trace, upto_seq).groups.values()
        return group

    def stream(self) -> StreamHistory:
        (stream,) = self.history().streams.values()
        return stream
