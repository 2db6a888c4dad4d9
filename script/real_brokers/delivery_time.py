"""How long deliveries took in a run on real brokers: the engine's run draws from the same times.

Rules: a delivery begins when the dispatcher has sent the message to the consumer, and ends when the
application receives it. Only a consumer that was idle counts: one that has acknowledged everything it has
received when the message is sent. Otherwise the message waits in the receiver queue, which the engine models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from script.real_brokers.process import Event


def deliveries_ns(events: Sequence[Event]) -> Iterator[int]:
    """What each delivery to an idle consumer took; `events` are in order."""
    under_way: dict[str, int] = {}  # by consumer, messages that it has been sent and has not acknowledged
    sent_ns: dict[tuple[str, int, int], int] = {}  # by consumer and position, if the consumer was idle then
    for event in events:
        kind = event["e"]
        if kind == "dispatched":
            consumer = event["consumer"]
            if not under_way.get(consumer):
                sent_ns[consumer, event["ledger"], event["entry"]] = event["t"]
            under_way[consumer] = under_way.get(consumer, 0) + 1
        elif kind == "delivered":
            begun_ns = sent_ns.pop((event["consumer"], event["ledger"], event["entry"]), None)
            if begun_ns is not None:
                yield event["t"] - begun_ns
        elif kind == "acknowledged" and under_way.get(event["consumer"]):
            under_way[event["consumer"]] -= 1
        elif kind == "disconnected" and "consumer" in event:  # a producer has one, too
            under_way.pop(event["consumer"], None)
