"""Search of a log by publish time, as brokers search: a binary search, whatever the order of the log.

Rules: as in Pulsar 4.2.4. The search returns the newest entry that was published before an instant, if the
log is in the order of publish times (`OpFindNewest`, `PersistentMessageFinder`). In a log that is not,
because a link was cut or slow, it may stop anywhere between two entries of which the first is older and the
second is not. So it passes messages that are newer, or returns to messages that are older. Markers are
entries, and their own publish time counts. Acknowledged entries are read, too. The range is narrowed by the
times at which ledgers were closed (`getFindPositionRange`). It begins at the last entry of the newest ledger
that was closed before the instant, and ends with the oldest ledger that was closed after it, each by more
than managedLedgerCursorResetLedgerCloseTimestampMaxClockSkewMillis. Instants are compared in milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.protocols.pulsar.broker.topic import Topic

CLOCK_SKEW = "managedLedgerCursorResetLedgerCloseTimestampMaxClockSkewMillis"
_MS = 1000


def published_us(topic: Topic, index: int) -> int:
    """When the entry's producer published it: the start of its TTL in every cluster."""
    record = topic.log.records[index]
    return (
        topic.runtime.markers[-record - 1].published_us
        if record < 0
        else topic.runtime.messages.published_us[record]
    )


def newest_before(topic: Topic, instant_us: int) -> int | None:
    """The index of the entry at which the broker's search for an instant ends, None where it finds none.

    A reset continues after it, or at the first entry without one. Expiry covers everything up to it.
    """
    instant_ms = instant_us // _MS
    first, end = _range(topic, instant_ms)
    newest = topic.log.length - 1
    count = min(end, newest) - first + 1

    def is_older(place: int) -> bool:
        return published_us(topic, min(first + place, newest)) // _MS < instant_ms

    if count <= 0 or not is_older(0):
        return None
    if is_older(count):  # one entry past the range, where the log has one
        return min(first + count, newest)
    low, high, last = 0, count, 0
    middle = _middle(low, high)
    while True:
        if is_older(middle):
            low = last = middle
        else:
            high = middle - 1
        middle = _middle(low, high)
        if high <= low:
            return min(first + last, newest)


def _middle(low: int, high: int) -> int:
    return low + max((high - low) // 2, 1)


def _range(topic: Topic, instant_ms: int) -> tuple[int, int]:
    """The indices of the first entry that the search compares, and of the last one of its range."""
    log = topic.log
    first, end = log.first_kept, log.length - 1
    skew_ms = topic.cluster.setting(CLOCK_SKEW, topic)
    if skew_ms < 0:
        return first, end
    for ledger in log.ledgers:
        if ledger.closed_us is None:
            break
        closed_ms, last = ledger.closed_us // _MS, ledger.first_index + ledger.entries - 1
        if closed_ms <= instant_ms - skew_ms:
            first = max(last, log.first_kept)
        elif closed_ms > instant_ms + skew_ms:
            end = last
            break
    return first, end


def last_of_expired_ledgers(topic: Topic, ledger_id: int, ttl_us: int) -> int | None:
    """The last index of the closed ledgers from this one on that are older than the time to live.

    The instant at which a ledger was closed counts, whatever its messages' publish times
    (`checkExpiryByLedgerClosureTime`).
    """
    found = None
    for ledger in topic.log.ledgers:
        if ledger.id < ledger_id:
            continue
        if ledger.closed_us is None or topic.runtime.now_us // _MS <= (ledger.closed_us + ttl_us) // _MS:
            break
        found = ledger.first_index + ledger.entries - 1
    return found
