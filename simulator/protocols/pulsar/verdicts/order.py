"""Deliveries out of order in a window, and how many ids a consumer must remember to deduplicate.

Rules: order is the producer's own, within one key, or within the producer when its messages have none. Only
the window's deliveries at the target are compared with each other. The consumer of the dedup window remembers
an id whenever it acknowledges it, in any cluster. A repeated acknowledgement makes the id recent again.
"""

from __future__ import annotations

import numpy as np

from simulator.protocols.pulsar.verdicts.facts import Facts
from simulator.protocols.pulsar.verdicts.lookup import (
    LatestBefore,
    count_later_and_smaller,
    within_groups_before,
)
from simulator.protocols.pulsar.verdicts.read import NEVER
from simulator.protocols.pulsar.verdicts.windows import Judged
from simulator.trace.registry import NULL


def keys_by_message(facts: Facts) -> np.ndarray:
    """By message its key number; NULL for none."""
    published = facts.history.table("message.published")
    keys = np.full(facts.history.message_count, NULL, dtype=np.int64)
    keys[published.message] = published.key
    return keys


def reordered(facts: Facts, judged: Judged, keys: np.ndarray) -> int:
    """Deliveries older, in their producer's order, than an earlier delivery of the same key in the window."""
    message = judged.deliveries.message
    if not len(message):
        return 0
    producer, sequence_id = facts.history.identity(message)
    _, key_rank = np.unique(keys[message], return_inverse=True)
    group = producer * (int(key_rank.max()) + 1) + key_rank
    return int((within_groups_before(group, sequence_id) > sequence_id).sum())


def dedup_window(judged: Judged) -> tuple[int, int]:
    """The fewest recent ids, and the shortest time, that a consumer must remember.

    Both are just enough to contain the last acknowledgement of every duplicate. 0 and 0 without duplicates.
    """
    if not len(judged.duplicates):
        return 0, 0
    acks, delivered_seq = judged.acknowledged, judged.duplicates.seq
    first_row = judged.latest_ack
    span_us = int((judged.duplicates.at_us - acks.at_us[first_row]).max())
    # Distinct ids among the acks from the duplicate's own to its delivery: acks in between, less those
    # repeated in between.
    rows_before = np.searchsorted(acks.seq, delivered_seq, side="left")
    repeated_at = _next_seq(acks.message, acks.seq)
    repeats = np.flatnonzero(repeated_at != NEVER)
    first_repeat = np.searchsorted(repeats, first_row, side="left")
    again = count_later_and_smaller(repeated_at[repeats], first_repeat, delivered_seq)
    return int((rows_before - first_row - again).max()), span_us


def _next_seq(message: np.ndarray, seq: np.ndarray) -> np.ndarray:
    """For each ack the seq of the next ack of the same message; NEVER for the last."""
    order = LatestBefore(message, seq).order
    following = np.full(len(message), NEVER, dtype=np.int64)
    same = message[order][1:] == message[order][:-1]
    following[order[:-1][same]] = seq[order[1:][same]]
    return following
