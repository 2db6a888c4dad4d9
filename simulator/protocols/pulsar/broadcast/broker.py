"""One broker of a cluster: it serves one dispatch after another and connects one client after another.

Rules (`admissions` connects clients): a dispatch is one entry for one consumer. It takes `dispatchTime`, or
as long as its bytes need at `bandwidth`, whichever is longer: the two overlap, so the broker is one server
and neither limit is ever exceeded. Dispatches are served in the order in which dispatchers queue them, across
all topics. The client has an entry when it has left the broker. A cancelled dispatch (session closed, topic
unloaded, reading restarted) takes no time, and later dispatches move up. A cluster that declares no brokers
has no such limits. Dispatches of audiences are in the same queue as runs (`runs.py`). `fan_out.py` makes sure
that they leave in time.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from simulator.protocols.pulsar.broadcast.fan_out import ConnectingBlock, Run
from simulator.protocols.pulsar.ranks import BROKER, rank

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulator.protocols.pulsar.broadcast.audience import Audience
    from simulator.protocols.pulsar.broker.cluster import Cluster
    from simulator.protocols.pulsar.broker.session import Session
    from simulator.protocols.pulsar.broker.topic import Topic
    from simulator.protocols.pulsar.client.consumer import Consumer
    from simulator.protocols.pulsar.scenario.model import BrokerSpec


# --- the clients that one broker has yet to connect: single clients, and members of audiences in blocks
#
# Rules: each client takes `connectTime`, one after another, in a queue separate from that of dispatches. A
# waiting client keeps its turn even when one before it disconnects.


class Ask(NamedTuple):
    """A client that waits to be subscribed: its turn is over at `end_us`."""

    client: Consumer
    topic: Topic
    end_us: int


class Admissions:
    """The queue of one broker: single requests in `asks`, in their order, and members in `blocks`.

    `free_us` is when every client in it will be connected.
    """

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.runtime = broker.runtime
        self.blocks: deque[ConnectingBlock] = deque()
        self.asks: dict[int, Ask] = {}
        self.asked = 0
        self.free_us = 0

    def ask(self, consumer: Consumer, topic: Topic) -> None:
        """A client requests to subscribe; its turn is after those of earlier requests."""
        self.asked += 1
        self.free_us = max(self.runtime.now_us, self.free_us) + self.broker.spec.connect_us
        self.asks[self.asked] = Ask(consumer, topic, self.free_us)
        self.runtime.schedule(self.free_us, self.broker.rank, self.admit, self.asked)

    def admit(self, number: int) -> None:
        """The turn of a client is over: subscribe it, unless it no longer waits."""
        ask = self.asks.pop(number, None)
        if ask is not None:
            ask.client.admitted(ask.topic)

    def ask_all(self, audience: Audience) -> None:
        """Every member of an audience requests a connection; without `connectTime` all connect at once."""
        connect_us = self.broker.spec.connect_us
        if not connect_us:
            self.runtime.fan_out.connect_at_once(audience)
            return
        block = ConnectingBlock(audience, max(self.runtime.now_us, self.free_us), connect_us)
        self.free_us = block.end_us
        self.blocks.append(block)
        self.runtime.fan_out.wake()

    def admitted(self, count: int) -> None:
        """The next members of the first block are connected."""
        block = self.blocks[0]
        block.done += count
        if block.done == block.client.size:
            self.blocks.popleft()

    def forget_client(self, client: Consumer | Audience) -> None:
        """Remove a client that no longer waits."""
        self._keep(lambda one: one.client is not client)

    def forget_topic(self, topic: Topic) -> None:
        """The topic leaves this broker: clients that wait for it are notified."""
        for ask in self._keep(lambda one: one.topic is not topic):
            ask.client.sent_away(topic)

    def _keep(self, wanted: Callable[[Ask | ConnectingBlock], bool]) -> list[Ask]:
        """Remove the unwanted waiters and return those with single requests.

        Clients that arrive later need not wait for them.
        """
        gone = {number: ask for number, ask in self.asks.items() if not wanted(ask)}
        blocks = deque(block for block in self.blocks if wanted(block))
        if gone or len(blocks) < len(self.blocks):
            self.asks = {number: ask for number, ask in self.asks.items() if number not in gone}
            self.blocks = blocks
            ends_us = [*(block.end_us for block in blocks), *(ask.end_us for ask in self.asks.values())]
            self.free_us = max([self.runtime.now_us, *ends_us])
        return list(gone.values())


_SECOND_US = 1_000_000


class Dispatch(NamedTuple):
    """A queued entry: it leaves at `leaves_us`, after `service_us` of the broker's time."""

    leaves_us: int
    service_us: int
    order: int  # number in the order of queueing at the broker
    size_bytes: int
    session: Session
    sent: tuple[int, int, int, int, int]
    """The arguments of the push: index, first message, bit set, redelivery count and cause.

    The bit set has the messages of the entry that are sent. The cause is a seq.
    """

    @property
    def topic(self) -> Topic:
        return self.session.topic

    @property
    def begins_us(self) -> int:
        return self.leaves_us - self.service_us

    @property
    def end_us(self) -> int:
        return self.leaves_us

    def begin_at(self, at_us: int) -> Dispatch:
        """The same dispatch, begun at another instant."""
        return self._replace(leaves_us=at_us + self.service_us)


class Broker:
    """One declared broker.

    `free_us` is when every queued dispatch will have left. `admissions` is the queue of clients that wait to
    be connected.
    """

    def __init__(self, cluster: Cluster, spec: BrokerSpec) -> None:
        self.runtime = cluster.runtime
        self.spec = spec
        self.name = spec.name
        self.number = cluster.runtime.name(spec.name)
        self.rank = rank(BROKER, sorted(cluster.runtime.scenario.brokers).index(spec.name))
        self.topics: list[str] = []  # topics that it serves now, in the order in which they were assigned
        self.waiting: deque[Dispatch] = deque()
        self.runs: deque[Run] = deque()  # of audiences; merged with `waiting` by instants into the one queue
        self.admissions = Admissions(self)
        self.dispatched_count = self.free_us = 0
        self.epoch = 0  # counts changes of the queue: the event of an earlier head is stale
        self.dispatches = self.bytes_out = self.busy_us = 0  # of dispatches that have left
        self.queued_us_max = 0

    def service_us(self, size_bytes: int) -> int:
        """Time that one dispatch of so many bytes keeps the broker busy, rounded up to whole us."""
        bandwidth = self.spec.bandwidth_bytes_per_s
        if bandwidth is None:
            return self.spec.dispatch_us
        return max(self.spec.dispatch_us, -(-size_bytes * _SECOND_US // bandwidth))

    # --- dispatches

    def send(self, session: Session, size_bytes: int, sent: tuple[int, int, int, int, int]) -> None:
        """Queue an entry for a consumer behind everything queued before."""
        service_us = self.service_us(size_bytes)
        self.free_us = max(self.runtime.now_us, self.free_us) + service_us
        self.queued_us_max = max(self.queued_us_max, self.queued_us)
        self.dispatched_count += 1
        self.waiting.append(
            Dispatch(self.free_us, service_us, self.dispatched_count, size_bytes, session, sent)
        )
        if len(self.waiting) == 1:
            self._expect_head()

    def _expect_head(self) -> None:
        if self.waiting:
            self.runtime.schedule(self.waiting[0].leaves_us, self.rank, self.leave, self.epoch)

    def leave(self, epoch: int) -> None:
        """The entry at the head of the queue has left: the client has it."""
        if epoch != self.epoch:
            return
        dispatch = self.waiting.popleft()
        self._expect_head()
        self.dispatches += 1
        self.bytes_out += dispatch.size_bytes
        self.busy_us += dispatch.service_us
        dispatch.session.arrive(dispatch)

    def recall(self, session: Session) -> int:
        """Cancel the queued dispatches of a session; returns their number of messages."""
        if not session.in_broker:
            return 0
        self._keep(lambda item: isinstance(item, Run) or item.session is not session)
        recalled, session.in_broker = session.in_broker, 0
        return recalled

    def forget_topic(self, topic: Topic) -> None:
        """The topic leaves this broker: its queued dispatches are dropped, waiting clients are notified."""
        for dispatch in self.waiting:
            if dispatch.session.topic is topic:
                dispatch.session.in_broker = 0
        self._keep(lambda item: item.topic is not topic)
        self.admissions.forget_topic(topic)

    def _keep(self, wanted: Callable[[Dispatch | Run], bool]) -> None:
        """Drop the others from the queue; the rest moves up, except the dispatch being served."""
        now_us = end_us = self.runtime.now_us
        items: list[Dispatch | Run] = [*self.waiting, *self.runs]
        queue = sorted(items, key=lambda item: (item.begins_us, item.order))
        kept = [item for item in queue if wanted(item)]
        if len(kept) == len(queue):
            return
        self.waiting, self.runs = deque(), deque()
        for item in kept:
            being_served = item is queue[0] and item.begins_us < now_us
            moved: Dispatch | Run = item if being_served else item.begin_at(end_us)
            end_us = moved.end_us
            if isinstance(moved, Run):
                self.runs.append(moved)
            else:
                self.waiting.append(moved)
        self.free_us = end_us
        self.epoch += 1
        self._expect_head()
        self.runtime.fan_out.wake()

    # --- audiences

    def fan_out(self, run: Run, requested_us: int | None = None) -> None:
        """Queue the dispatches of an audience, requested now or before any other event."""
        self.queued_us_max = max(self.queued_us_max, self.queued_us)
        self.dispatched_count += 1
        run.order = self.dispatched_count
        run.begin_at(max(self.runtime.now_us if requested_us is None else requested_us, self.free_us))
        self.free_us = run.end_us
        self.runs.append(run)
        self.runtime.fan_out.wake()

    def took(self, run: Run, count: int) -> None:
        """The next dispatches of the first run have left."""
        entries = run.entries if len(run.entries) == 1 else run.entries[run.done : run.done + count]
        services = run.service_us if len(run.entries) == 1 else run.service_us[run.done : run.done + count]
        times = count // len(entries)
        self.dispatches += count
        self.bytes_out += times * sum(run.audience.entry_bytes(index) for index in entries)
        self.busy_us += times * sum(services)
        run.done += count
        if run.done == run.total:
            self.runs.popleft()

    def forget_audience(self, audience: Audience) -> None:
        """Drop the queued dispatches of an audience whose clients have closed."""
        self._keep(lambda item: not isinstance(item, Run) or item.audience is not audience)
        self.admissions.forget_client(audience)

    # --- queries

    @property
    def queued(self) -> int:
        """Dispatches that have not left."""
        return len(self.waiting) + sum(run.total - run.done for run in self.runs)

    @property
    def queued_us(self) -> int:
        """How long a new entry would wait before its own service."""
        return max(0, self.free_us - self.runtime.now_us)
