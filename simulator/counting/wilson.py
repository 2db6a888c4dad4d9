"""The 95 % interval of a probability from a share of runs, by Wilson's score method.

Rules: integers only, so that equal counts give equal bytes everywhere. The bounds are rounded outwards to
millionths. Unlike the normal approximation it has a width where all runs or none had the outcome.
"""

from __future__ import annotations

from math import isqrt

MILLION = 1_000_000
Z_MILLIONTHS = 1_959_964
"""The 97.5th percentile of the normal distribution: two sides of 2.5 % are outside."""


def wilson_interval(hits: int, runs: int) -> tuple[int, int]:
    """The bounds of the probability in millionths, when `hits` of `runs` runs had the outcome."""
    if not 0 <= hits <= runs or runs < 1:
        raise ValueError(f"{hits} of {runs} runs: give at least one run, and 0 to all of them")
    one, z = MILLION * MILLION, Z_MILLIONTHS
    scaled_root = isqrt((4 * one * hits * (runs - hits) + runs * z * z) * one // runs)
    middle, spread = (2 * hits * one + z * z) * MILLION, z * scaled_root
    whole = 2 * (runs * one + z * z)
    # `middle` and `spread` are a million times too large, which makes the quotients millionths
    return max(0, (middle - spread) // whole), min(MILLION, -((-middle - spread) // whole))
