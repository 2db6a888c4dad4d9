"""Messages' keys as numbers of 64 bits: integers as they are, texts as hashes.

Rules: two texts may have the same hash, so a hash only selects rows, and their texts are compared afterwards.
In a log of a hundred million ids the probability that any two have the same hash is 0.03 %.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""The multiplier of Knuth's multiplicative hash for 64 bits."""
SHIFT = np.uint64(29)
BITS = 64
"""Bits of a text's hash. Tests use fewer, so that texts share hashes."""
WORD_BYTES = 8
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(WORD_BYTES + 1)], np.uint64)


def usable_keys(keys: pa.Array) -> pa.Array:
    """The keys as the rules of a row have them: texts without spaces around, null where nothing is left."""
    if pa.types.is_integer(keys.type):
        return keys.cast(pa.int64())
    texts = pc.ascii_trim(keys.cast(pa.string()), characters=" ")
    return pc.if_else(pc.greater(pc.binary_length(texts), 0), texts, None)


def key_numbers(keys: pa.Array) -> np.ndarray:
    """A number for each key, the same for equal ones; any for null."""
    if pa.types.is_integer(keys.type):
        return keys.fill_null(0).to_numpy().view(np.uint64)
    return _hashes(keys.fill_null("")) >> np.uint64(64 - BITS)


def _hashes(texts: pa.StringArray) -> np.ndarray:
    """Hashes of texts, eight of their bytes at a time."""
    _, ends, content = texts.buffers()
    offsets = np.frombuffer(ends, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    length = np.diff(offsets)
    hashed = length.astype(np.uint64) * FACTOR
    held = np.frombuffer(content, np.uint8)[: offsets[-1]]
    held = np.concatenate((held, np.zeros(WORD_BYTES, np.uint8)))
    words = np.ndarray(len(held) - WORD_BYTES + 1, np.uint64, held, strides=(1,))  # one begins at each byte
    rows = np.flatnonzero(length)
    begin, left = offsets[rows], length[rows]
    while len(rows):
        word = words[begin] & _FIRST_BYTES[np.minimum(left, WORD_BYTES)]
        mixed = (hashed[rows] ^ word) * FACTOR
        hashed[rows] = mixed ^ (mixed >> SHIFT)
        begin, left = begin + WORD_BYTES, left - WORD_BYTES
        more = left > 0
        if not more.all():
            rows, begin, left = rows[more], begin[more], left[more]
    return hashed
