"""What a consumer does with a processed message: acknowledge, hold or negatively ack it; how acks travel.

Rules: acks are grouped for `acknowledgmentGroupTime` on a grid that starts when the client connects (at 1,000
entries acknowledged one by one at once). Acks not yet sent are lost with the client, and without grouping an
ack without a connection fails. A cumulative ack is one row per message that it covers. The client itself
drops messages redelivered at or below its last one (PersistentAcknowledgmentsGroupingTracker). `redelivery`
handles negative acks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from simulator.kernel.random import Shares, stream_key
from simulator.protocols.pulsar.client.deliveries import About, Ack, MessageKey, Place
from simulator.protocols.pulsar.client.redelivery import GivesBack
from simulator.protocols.pulsar.client.waiting_acks import WaitingAcks
from simulator.protocols.pulsar.events import CODE
from simulator.trace.registry import NULL

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.session import ReceivedMessage, Session

_ACKNOWLEDGED = CODE["message.acknowledged"]
_HELD, _NEGATIVE = CODE["message.held"], CODE["message.negatively-acknowledged"]
ACK_GROUP_SIZE_MAX = 1000  # entries: the Java client's maxAcknowledgmentGroupSize
_WHOLE_ENTRY = 1 << 62  # after every batch index


Instants = TypeVar("Instants", int, np.ndarray)


class Delivery(NamedTuple):
    """A message that the application has.

    `seq`: of its `message.delivered` row; `about`: the columns that all rows about it share.
    """

    received: ReceivedMessage
    seq: int
    key: MessageKey
    about: About


EVERY_MESSAGE = range(1 << 62)
"""Where messages are selected by name, each is looked at."""


class Selected(NamedTuple):
    """Messages to hold or to acknowledge negatively: by name (producer, sequence id), and by a share of
    all.
    """

    named: frozenset[tuple[str, int]]
    shares: Shares
    for_us: int | None


class Acknowledger(GivesBack):
    """The acking half of a Consumer."""

    connected_us: int

    def connected_to(self, topic: str) -> bool:
        """Whether it has a session on this topic or partition, in whichever cluster."""
        return any(place[1] == topic for place in self.sessions)

    def init_acknowledging(self) -> None:
        """Empty state; called once by the consumer."""
        spec = self.spec
        self.kinds = {kind: self.runtime.name(kind) for kind in ("individual", "cumulative")}
        self.in_hand: dict[MessageKey, Delivery] = {}
        self.ack_pending = WaitingAcks()
        self.batches_waiting: dict[tuple[Place, int], bool] = {}  # entries of several messages in it
        self.batched_waiting = 0  # messages of these in it
        # the last cumulative ack: (index, batch_index or _WHOLE_ENTRY)
        self.acknowledged_to: dict[Place, tuple[int, int]] = {}
        self.dropped: dict[MessageKey, ReceivedMessage] = {}  # redelivered below it; sent with the next ack
        # acks that wait for the rest of their batch
        self.whole_entries: dict[tuple[Place, int], dict[MessageKey, Ack]] = {}
        self.flush_due = False
        # the messages that a selection may take, for one look-up each; None: no selection
        self.special: Shares | range | None = None
        self.holds: list[Selected] = []
        self.negatives: list[Selected] = []
        if spec.hold:
            self.add_hold(spec.hold.messages, spec.hold.share_millionths, spec.hold.for_us)
        if spec.negative_acknowledge:
            chosen, key = (
                spec.negative_acknowledge,
                stream_key(self.runtime.seed, f"negative/{spec.subscription}"),
            )
            self.negatives.append(
                Selected(frozenset(chosen.messages), Shares((key, chosen.share_millionths)), None)
            )
            self._note_selections()
        self.init_giving_back()
        self.held: dict[MessageKey, int] = {}  # key -> serial of the hold
        self.hold_count = 0

    def add_hold(
        self, messages: Iterable[tuple[str, int]], share_millionths: int, for_us: int | None
    ) -> None:
        """From now on hold these messages, and a share of all, for a time (None: until released)."""
        key = stream_key(self.runtime.seed, f"hold/{self.spec.subscription}")
        self.holds.append(Selected(frozenset(messages), Shares((key, share_millionths)), for_us))
        self._note_selections()

    def drop_holds(self) -> None:
        """Hold no message any more that is still to come."""
        self.holds = []
        self._note_selections()

    def _note_selections(self) -> None:
        selections = [*self.negatives, *self.holds]
        named = any(selection.named for selection in selections)
        self.special = (
            None
            if not selections
            else EVERY_MESSAGE
            if named
            else Shares.any_of(selection.shares for selection in selections)
        )

    def drop_acks(self) -> None:
        """The process stopped without closing."""
        self.in_hand.clear()
        self._forget_pending()
        self.acknowledged_to.clear()
        self.dropped.clear()
        self.whole_entries.clear()
        self.drop_given_back()
        self.held.clear()
        self.flush_due = False

    # --- after processing

    def settle(self, delivery: Delivery) -> None:
        """Hold, negatively acknowledge or acknowledge a processed message."""
        if self.spec.acknowledge == "never":
            return
        message = delivery.received.message
        if self.special is None or message not in self.special:
            self.acknowledge(delivery)
            return
        kind, held_us = self.choice(message)
        if kind == _NEGATIVE:
            self.negatively_acknowledge(delivery, delivery.seq)
        elif kind == _HELD:
            self._hold(delivery, held_us)
        else:
            self.acknowledge(delivery)

    def choice(self, message: int) -> tuple[int, int]:
        """What becomes of a processed message: the type of its row, and for how long it is held.

        NULL: until an operator releases it, or not at all.
        """
        if self.special is not None and message in self.special:
            if self._selected(self.negatives, message) and message not in self.negatively_acknowledged:
                return _NEGATIVE, NULL
            if hold := self._selected(self.holds, message):
                return _HELD, NULL if hold.for_us is None else hold.for_us
        return _ACKNOWLEDGED, NULL

    def _selected(self, selections: list[Selected], message: int) -> Selected | None:
        """The first selection that the message is in, by its own draw or by name."""
        for selection in selections:
            if message in selection.shares:
                return selection
            if selection.named:
                messages = self.runtime.messages
                if (
                    self.runtime.trace.names[messages.producer[message]],
                    messages.sequence_id[message],
                ) in selection.named:
                    return selection
        return None

    def _hold(self, delivery: Delivery, held_us: int) -> None:
        runtime, (_received, cause, key, about) = self.runtime, delivery
        self.hold_count += 1
        # of several copies the first one's time counts: its ack is for all
        self.held.setdefault(key, self.hold_count)
        self.last_seq = runtime.emit((_HELD, runtime.now_us, cause, *about, held_us))
        if held_us != NULL:
            runtime.schedule(
                runtime.now_us + held_us, self.rank, self.hold_over, (self.epoch, key, self.hold_count)
            )

    def hold_over(self, argument: tuple[int, MessageKey, int]) -> None:
        """The held message is acknowledged now."""
        epoch, key, serial = argument
        if epoch == self.epoch and self.held.get(key) == serial:
            self.release_held(key)
            self.close_if_done()

    def release_held(self, key: MessageKey) -> None:
        """Acknowledge a held message now, even if its redelivery has been requested meanwhile.

        A message that a cumulative ack has covered by now is left alone.
        """
        delivery = self.in_hand.get(key) or self.given_back.get(key)
        if self.held.pop(key, None) is not None and delivery is not None:
            self.acknowledge(delivery)

    def held_messages(self) -> dict[MessageKey, int]:
        """The number of each message that the application holds."""
        return {key: (self.in_hand.get(key) or self.given_back[key]).received.message for key in self.held}

    # --- acks

    def acknowledge(self, delivery: Delivery) -> None:
        """The application calls ack: individually, or cumulatively for all it received up to here.

        Negatively acked messages are included.
        """
        if self.spec.acknowledge == "cumulative":
            upto = delivery.key
            had = {**self.in_hand, **self.given_back} if self.given_back else self.in_hand
            for key in sorted(key for key in had if key.place == upto.place and key <= upto):
                self._acknowledge_one(had[key], self.kinds["cumulative"])
            if self.spec.acknowledgment_group_time_us:
                self._note_cumulative(delivery)
            if self.dropped:
                self._tell_of_dropped(delivery.key, self.last_seq)
        else:
            self._acknowledge_one(delivery, self.kinds["individual"])
        if not self.flush_due or len(self.ack_pending) >= ACK_GROUP_SIZE_MAX:
            self._send_or_wait()

    def _note_cumulative(self, delivery: Delivery) -> None:
        """A message redelivered up to here is a duplicate for the client.

        Without batch-index acks of its own, up to the entry before.
        """
        place, index, batch_index = delivery.key
        whole = batch_index == NULL or (place, index) not in self.whole_entries
        upto = (
            (index, _WHOLE_ENTRY if batch_index == NULL else batch_index)
            if whole or self.spec.batch_index_acknowledgment
            else (index - 1, _WHOLE_ENTRY)
        )
        self.acknowledged_to[place] = max(upto, self.acknowledged_to.get(place, upto))

    def drops(self, received: ReceivedMessage) -> bool:
        """Whether the client drops this message when it receives it.

        Its ack waits to be sent, or a cumulative ack covered it (isDuplicate).
        """
        session, index, _message, batch_index, _redelivery, _cause = received
        key = MessageKey(session.topic.place, index, batch_index)
        if key in self.ack_pending:
            return True
        upto = self.acknowledged_to.get(key.place)
        if upto is None or (index, _WHOLE_ENTRY if batch_index == NULL else batch_index) > upto:
            return False
        self.dropped[key] = received
        return True

    def _tell_of_dropped(self, upto: MessageKey, seq: int) -> None:
        """The cumulative ack of row `seq` is a position: it covers what was dropped below it."""
        for key in sorted(key for key in self.dropped if key.place == upto.place and key <= upto):
            received = self.dropped.pop(key)
            self._wait_to_be_sent(
                key,
                received.session,
                (
                    received.index,
                    received.batch_index,
                    seq,
                    received.message,
                    received.session.about(received),
                ),
            )

    def forget_cumulative(self, place: Place) -> None:
        """A seek: acknowledged messages are redelivered."""
        self.acknowledged_to.pop(place, None)
        self.forget_dropped(place)

    def forget_dropped(self, place: Place) -> None:
        """The broker reads again there: what was dropped is redelivered."""
        if self.dropped:
            self.dropped = {key: received for key, received in self.dropped.items() if key.place != place}

    def _acknowledge_one(self, delivery: Delivery, kind: int) -> None:
        runtime, ((session, index, message, batch_index, _redelivery, _cause), delivered_seq, key, about) = (
            self.runtime,
            delivery,
        )
        self.in_hand.pop(key, None)
        if self.given_back:
            self.given_back.pop(key, None)
        if self.held:
            self.held.pop(key, None)
        seq = self.last_seq = runtime.emit((_ACKNOWLEDGED, runtime.now_us, delivered_seq, *about, kind))
        name = session.subscription.name
        runtime.acknowledged[name].add(message)
        if runtime.windows and name in runtime.windows:
            runtime.windows[name].settled(message)
        self._wait_to_be_sent(key, session, (index, batch_index, seq, message, about))

    def _wait_to_be_sent(self, key: MessageKey, session: Session, ack: Ack) -> None:
        batch_index = key.batch_index
        if batch_index == NULL:
            self.ack_pending.put(key, ack)
        elif self._acks_in_batches(session):
            self._add_of_batch(key, ack)
        else:
            self._wait_for_entry(key, ack)

    def _acks_in_batches(self, session: Session) -> bool:
        """Whether acks of single messages of a batch go to the broker and are kept there."""
        return self.spec.batch_index_acknowledgment and session.topic.cluster.setting(
            "acknowledgmentAtBatchIndexLevelEnabled", session.topic
        )

    def _wait_for_entry(self, key: MessageKey, ack: Ack) -> None:
        """Without batch-index acks an entry is acknowledged when all its messages are."""
        waiting = self.whole_entries.setdefault(key[:2], {})
        waiting[key] = ack
        _index, batch_index, _seq, message, _about = ack
        if len(waiting) == self.runtime.messages.batch[message - batch_index]:
            for part, waited in self.whole_entries.pop(key[:2]).items():
                self._add_of_batch(part, waited)

    def _add_of_batch(self, key: MessageKey, ack: Ack) -> None:
        self.batched_waiting += key not in self.ack_pending
        self.batches_waiting[key[:2]] = True
        self.ack_pending.put(key, ack)

    def _forget_pending(self) -> None:
        self.ack_pending.clear()
        self.batches_waiting, self.batched_waiting = {}, 0

    def forget_whole_entry(self, received: ReceivedMessage) -> None:
        """The entry is redelivered: acks of its earlier delivery do not count for this one."""
        if self.whole_entries:
            self.whole_entries.pop((received.session.topic.place, received.index), None)

    def _send_or_wait(self) -> None:
        waiting, group_us = len(self.ack_pending), self.spec.acknowledgment_group_time_us
        if group_us == 0 or (waiting >= ACK_GROUP_SIZE_MAX and self._group_is_full()):
            self.flush_acks()
        elif waiting and not self.flush_due:
            self.flush_due = True
            self.runtime.schedule(
                self.group_ends_us(self.runtime.now_us), self.rank, self.flush_timer, self.epoch
            )

    def _group_is_full(self) -> bool:
        """Whether a thousand entries wait; a cumulative ack is one position, however much it covers, and
        always waits for its time.
        """
        if self.spec.acknowledge == "cumulative":
            return False
        return len(self.ack_pending) - self.batched_waiting + len(self.batches_waiting) >= ACK_GROUP_SIZE_MAX

    def group_ends_us(self, at_us: Instants) -> Instants:
        """When the acks that begin to wait at an instant are sent."""
        group_us = self.spec.acknowledgment_group_time_us
        return self.connected_us + ((at_us - self.connected_us) // group_us + 1) * group_us

    def flush_timer(self, epoch: int) -> None:
        """The grouping interval is over."""
        if epoch == self.epoch:
            self.flush_due = False
            self.flush_acks()

    def flush_acks(self) -> None:
        """Send the acks that wait, one group per topic.

        Those of a topic that is not connected keep waiting, with two exceptions: without grouping such an ack
        fails, and where the topic is now connected in another cluster the client drops them, because
        positions there are others.
        """
        if not self.ack_pending:
            return
        mostly_of = self.ack_pending.mostly_of
        if mostly_of in self.sessions and self.ack_pending.all_of(mostly_of):
            columns = self.ack_pending.columns()
            self._forget_pending()
            self.sessions[mostly_of].subscription.acknowledge_columns(columns)
            return
        groups: dict[Place, list[Ack]] = {}
        waiting: dict[MessageKey, Ack] = {}
        for key, ack in self.ack_pending.by_key().items():
            place = key.place
            if place in groups:
                groups[place].append(ack)
            elif place in self.sessions:
                groups[place] = [ack]
            elif self.spec.acknowledgment_group_time_us and not self.connected_to(place[1]):
                waiting[key] = ack
        self._forget_pending()
        for key, ack in waiting.items():
            if key.batch_index == NULL:
                self.ack_pending.put(key, ack)
            else:
                self._add_of_batch(key, ack)
        for place, acks in groups.items():
            self.sessions[place].subscription.acknowledge(acks)
