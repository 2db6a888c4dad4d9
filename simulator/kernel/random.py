"""Random draws: named streams of 64-bit integers, each a pure function of (seed, stream name, index).

Rules: a draw belongs to the thing it decides (message 4711's latency on a link), never to the order of calls,
so nothing here keeps a state. Integers only. The scalar and the vectorised function give the same values. The
test vectors are pinned, because changing one bit changes every saved lab.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

import numpy as np

MASK = (1 << 64) - 1
"""Sixty-four bits: every key and draw is in 0..MASK."""

MILLION = 1_000_000
"""Shares are in millionths."""

SHARE_BLOCK_BITS = 10
"""Draws that `Shares` makes at once: about 20 us for 1,024, so that `in` costs a look-up."""

SHARE_BLOCKS_KEPT = 256
"""Blocks of all shares kept, 1 KiB each: callers with the same stream share them and draw nothing twice."""

# SplitMix64 (Steele, Lea, Flood 2014): a counter in steps of the golden ratio, then a finaliser.
_STEP = 0x9E3779B97F4A7C15
_FIRST_FACTOR = 0xBF58476D1CE4E5B9
_SECOND_FACTOR = 0x94D049BB133111EB


class StreamKey(int):
    """The key of a stream, with the stream's name.

    A copied state can so get the keys of the same streams under another seed (`simulator.system.checkpoint`).
    """

    name: str

    def __new__(cls, value: int, name: str) -> StreamKey:
        key = super().__new__(cls, value)
        key.name = name
        return key

    def __reduce__(self) -> tuple[type[StreamKey], tuple[int, str]]:
        return StreamKey, (int(self), self.name)


def stream_key(seed: int, name: str) -> StreamKey:
    """The 64-bit key of the stream `name` under `seed`; any integer is a seed."""
    digest = blake2b(f"{seed}\0{name}".encode(), digest_size=8).digest()
    return StreamKey(int.from_bytes(digest, "big"), name)


def draw(key: int, index: int) -> int:
    """Draw number `index` (from 0) of a stream: 0..2**64-1."""
    mixed = (key + (index + 1) * _STEP) & MASK
    mixed = ((mixed ^ (mixed >> 30)) * _FIRST_FACTOR) & MASK
    mixed = ((mixed ^ (mixed >> 27)) * _SECOND_FACTOR) & MASK
    return mixed ^ (mixed >> 31)


def draw_block(key: int, first: int, count: int) -> np.ndarray:
    """Draws `first` to `first + count - 1` as a uint64 array; the values of `draw`, exactly."""
    start = (key + (first + 1) * _STEP) & MASK
    mixed = np.arange(count, dtype=np.uint64)
    mixed *= np.uint64(_STEP)  # unsigned array arithmetic wraps at 64 bits, as the masks above do
    mixed += np.uint64(start)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(_FIRST_FACTOR)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(_SECOND_FACTOR)
    mixed ^= mixed >> np.uint64(31)
    return mixed


@lru_cache(maxsize=SHARE_BLOCKS_KEPT)
def _share_block(shares: tuple[tuple[int, int], ...], number: int) -> bytes:
    """One byte per index of a block: whether it falls in any of the shares (key, millionths)."""
    first, count = number << SHARE_BLOCK_BITS, 1 << SHARE_BLOCK_BITS
    taken = [
        draw_block(key, first, count) % np.uint64(MILLION) < np.uint64(millionths)
        for key, millionths in shares
    ]
    return np.logical_or.reduce(taken).tobytes()


class Shares:
    """The indices of a stream that are in a share of it, or in any of several shares.

    Index i is in a share when `draw(key, i) % MILLION < millionths`. A block of indices is computed at a
    time.
    """

    __slots__ = ("_shares", "_number", "_block")

    def __init__(self, *shares: tuple[int, int]) -> None:
        """Takes the stream's key and the millionths of each share."""
        self._shares = shares
        self._number = -1
        self._block = b""

    @classmethod
    def any_of(cls, several: Iterable[Shares]) -> Shares:
        """The indices that fall in at least one of these."""
        return cls(*(share for shares in several for share in shares._shares))

    def __contains__(self, index: int) -> bool:
        number = index >> SHARE_BLOCK_BITS
        if number != self._number:
            self._block = _share_block(self._shares, number)
            self._number = number
        return self._block[index & (1 << SHARE_BLOCK_BITS) - 1] != 0

    def __getstate__(self) -> tuple[tuple[int, int], ...]:
        return self._shares  # the block is a cache

    def __setstate__(self, state: tuple[tuple[int, int], ...]) -> None:
        type(self).__init__(self, *state)


def uuid_text(key: int, index: int) -> str:
    """Text in the shape of a version 4 UUID, upper case; two draws of the stream make one."""
    bits = (draw(key, 2 * index) << 64) | draw(key, 2 * index + 1)
    bits = (bits & ~(0xF << 76)) | (0x4 << 76)  # version 4
    bits = (bits & ~(0x3 << 62)) | (0x2 << 62)  # RFC 4122 variant
    text = f"{bits:032X}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
