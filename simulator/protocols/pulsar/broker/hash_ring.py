"""The ring on which a broker places consumers by name, and Pulsar's 32-bit Murmur3 hash for it.

Pulsar's AbstractDispatcherSingleActiveConsumer chooses the active consumer of a topic without partitions like
this (#19502), and that of a partition under activeConsumerFailoverConsistentHashing (PIP-392): 100 points for
each consumer, `name + number` hashed. The hash of the topic's full name selects the next point. Pulsar's code
comment and documentation describe the order of subscribing, but the code does not use it (#24747).
"""

from __future__ import annotations

from bisect import bisect_left

POINTS_PER_CONSUMER = 100
_MASK = 0xFFFFFFFF


def murmur3(data: bytes) -> int:
    """Pulsar's makeHash of `data`: Murmur3_32 with seed 0, without its sign bit, 0..2**31-1.

    The algorithm is Appleby's, in the public domain.
    """
    hashed, whole = 0, len(data) // 4 * 4
    for place in range(0, whole, 4):
        hashed ^= _mixed(int.from_bytes(data[place : place + 4], "little"))
        hashed = (hashed << 13 | hashed >> 19) & _MASK
        hashed = (hashed * 5 + 0xE6546B64) & _MASK
    if whole < len(data):
        hashed ^= _mixed(int.from_bytes(data[whole:], "little"))
    hashed ^= len(data)
    hashed = ((hashed ^ hashed >> 16) * 0x85EBCA6B) & _MASK
    hashed = ((hashed ^ hashed >> 13) * 0xC2B2AE35) & _MASK
    return (hashed ^ hashed >> 16) & 0x7FFFFFFF


def _mixed(word: int) -> int:
    word = (word * 0xCC9E2D51) & _MASK
    word = (word << 15 | word >> 17) & _MASK
    return (word * 0x1B873593) & _MASK


def full_topic_name(namespace: str, name: str) -> str:
    """The name that a broker uses for a topic or partition.

    `namespace` is `tenant/namespace`, `name` has the partition's suffix.
    """
    return f"persistent://{namespace}/{name}"


def chosen_on_ring(full_name: str, consumers: list[str]) -> int:
    """Index of the consumer, of names in sorted order, that is active for the topic with this full name."""
    ring: dict[int, int] = {}
    for index, name in enumerate(consumers):
        for point in range(POINTS_PER_CONSUMER):
            ring[murmur3(f"{name}{point}".encode())] = index  # of two at one point the later is kept
    points = sorted(ring)
    place = bisect_left(points, murmur3(full_name.encode()))
    return ring[points[place % len(points)]]
