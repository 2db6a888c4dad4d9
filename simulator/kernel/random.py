"""Chance: named streams of 64-bit draws, each a pure function of (seed, stream name, index).

Rules: a draw belongs to the thing it decides (message 4711's latency on a link), never to the order of asking, so
nothing here keeps a state. Integers only. The scalar and the vectorised function give the same values; the test
vectors are pinned, because changing one bit changes every saved lab.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

import numpy as np

MASK = (1 << 64) - 1
"""Sixty-four bits: every key and draw is in 0..MASK."""

MILLION = 1_000_000
"""Shares are in millionths."""

SHARE_BLOCK_BITS = 10
"""Draws that `Shares` makes at once: about 20 us for 1,024, so that asking costs a look-up."""

SHARE_BLOCKS_KEPT = 256
"""Blocks of all shares kept, 1 KiB each: whoever asks about the same stream shares them, and what comes again is not drawn again."""

# SplitMix64 (Steele, Lea, Flood 2014): a counter in steps of the golden ratio, then a finaliser.
_STEP = 0x9E3779B97F4A7C15
_FIRST_FACTOR = 0xBF58476D1CE4E5B9
_SECOND_FACTOR = 0x94D049BB133111EB


def stream_key(seed: int, name: str) -> int:
    """The 64-bit key of the stream `name` under `seed`; any integer is a seed."""
    return int.from_bytes(blake2b(f"{seed}\0{name}".encode(), digest_size=8).digest(), "big")


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
def _share_block(key: int, share_millionths: int, number: int) -> bytes:
    """One byte per index of a block: whether it falls in the share."""
    draws = draw_block(key, number << SHARE_BLOCK_BITS, 1 << SHARE_BLOCK_BITS)
    return (draws % np.uint64(MILLION) < np.uint64(share_millionths)).tobytes()


class Shares:
    """Which indices of one stream fall in a share: `draw(key, index) % MILLION < share`, a block of indices at a time."""

    __slots__ = ("_key", "_share_millionths", "_number", "_block")

    def __init__(self, key: int, share_millionths: int) -> None:
        self._key = key
        self._share_millionths = share_millionths
        self._number = -1
        self._block = b""

    def __contains__(self, index: int) -> bool:
        number = index >> SHARE_BLOCK_BITS
        if number != self._number:
            self._block = _share_block(self._key, self._share_millionths, number)
            self._number = number
        return self._block[index & (1 << SHARE_BLOCK_BITS) - 1] != 0

    def __getstate__(self) -> tuple[int, int]:
        return self._key, self._share_millionths  # the block is a cache

    def __setstate__(self, state: tuple[int, int]) -> None:
        self.__init__(*state)


def uuid_text(key: int, index: int) -> str:
    """Text in the shape of a version 4 UUID, upper case; two draws of the stream make one."""
    bits = (draw(key, 2 * index) << 64) | draw(key, 2 * index + 1)
    bits = (bits & ~(0xF << 76)) | (0x4 << 76)  # version 4
    bits = (bits & ~(0x3 << 62)) | (0x2 << 62)  # RFC 4122 variant
    text = f"{bits:032X}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
