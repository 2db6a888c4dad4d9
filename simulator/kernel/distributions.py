"""Distributions of durations: constant, uniform, lognormal, exponential, in integer microseconds.

Rules: every result is computed with integers, never with floats. A lognormal or exponential duration is read
from a table of 4,096 quantiles with linear interpolation between them. The table is made once per shape with
`decimal`, whose `exp` and `ln` are correctly rounded and therefore the same on every machine. Draw `index` is
a pure function of (distribution, key, index); the blocks kept here are a cache and change nothing. Tails end
at the outermost midpoint (probability 1 / 8,192): 3.67 standard deviations, or 9.01 times the mean.
"""

from __future__ import annotations

from copy import copy
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from simulator.kernel.normal_quantiles import CELLS, SCALE, normal_quantiles
from simulator.kernel.random import draw_block

KINDS = ("constant", "uniform", "lognormal", "exponential")

LONGEST_US = (1 << 38) - 1
"""The longest duration that a distribution may give, 76 hours: interpolation in 64 bits is exact below it."""

BLOCK = 1024
"""Draws computed at once: about 20 µs a block, so a draw costs a list lookup."""

BLOCKS_KEPT = 64
"""Blocks kept per sampler, 0.5 MiB at most.

Several clients with distant draws can share a sampler without evicting each other's blocks at once.
"""

MILLIONTHS = 1_000_000

LARGEST_SIGMA = 10
"""The greatest sigma of a lognormal: at 10 the outermost quantiles differ by a factor of 10**32."""

_BLOCK_BITS = BLOCK.bit_length() - 1
_FRACTION_BITS = 20  # of a draw's top 32 bits, 12 choose the cell and 20 the place between two midpoints
_SUB_BITS = 4  # tables hold sixteenths of a microsecond, so that short spans keep their shape
_ARITHMETIC = Context(prec=30, rounding=ROUND_HALF_EVEN)


class Span(NamedTuple):
    """A distribution outside a scenario, with the fields of a scenario's."""

    kind: str = "constant"
    value_us: int = 0
    low_us: int = 0
    high_us: int = 0
    sigma_millionths: int = 0

    @property
    def nominal_us(self) -> int:
        """The configured value; the middle of a uniform distribution."""
        return (self.low_us + self.high_us) // 2 if self.kind == "uniform" else self.value_us


class Varying(Protocol):
    """Anything with the fields of `Span`, such as a scenario's distribution."""

    @property
    def kind(self) -> str: ...
    @property
    def value_us(self) -> int: ...
    @property
    def low_us(self) -> int: ...
    @property
    def high_us(self) -> int: ...
    @property
    def sigma_millionths(self) -> int: ...
    @property
    def nominal_us(self) -> int: ...


@lru_cache(maxsize=64)
def _lognormal_factors(sigma_millionths: int) -> tuple[Decimal, ...]:
    """exp(sigma * z) at every midpoint."""
    sigma = _ARITHMETIC.divide(Decimal(sigma_millionths), Decimal(MILLIONTHS * SCALE))
    return tuple(_ARITHMETIC.exp(_ARITHMETIC.multiply(sigma, Decimal(z))) for z in normal_quantiles())


@lru_cache(maxsize=1)
def _exponential_factors() -> tuple[Decimal, ...]:
    """-ln(1 - p) at every midpoint p."""
    whole = _ARITHMETIC.ln(Decimal(2 * CELLS))
    return tuple(
        _ARITHMETIC.subtract(whole, _ARITHMETIC.ln(Decimal(2 * (CELLS - cell) - 1))) for cell in range(CELLS)
    )


@lru_cache(maxsize=64)
def quantile_table(kind: str, value_us: int, sigma_millionths: int) -> np.ndarray:
    """The midpoint quantiles of a lognormal (median, sigma) or exponential (mean) distribution.

    They are in sixteenths of a microsecond. Raises ValueError when the longest exceeds LONGEST_US.
    """
    factors = _exponential_factors() if kind == "exponential" else _lognormal_factors(sigma_millionths)
    scaled = Decimal(value_us << _SUB_BITS)
    longest = _ARITHMETIC.multiply(factors[-1], scaled)
    if longest > LONGEST_US << _SUB_BITS:
        raise ValueError(
            f"the longest span of this {kind} distribution would be {int(longest) >> _SUB_BITS} us; "
            f"choose {'a shorter mean' if kind == 'exponential' else 'a shorter median or a smaller sigma'} "
            f"so that it stays within {LONGEST_US} us"
        )
    return np.array(
        [int(_ARITHMETIC.to_integral_value(_ARITHMETIC.multiply(factor, scaled))) for factor in factors],
        dtype=np.int64,
    )


def interpolate(table: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Microseconds for 64-bit draws, by linear interpolation between the midpoints of the table.

    Beyond the outermost midpoints the value is constant.
    """
    # midpoint of cell 0 is place 0
    place = (draws >> np.uint64(32)).astype(np.int64) - (1 << (_FRACTION_BITS - 1))
    np.clip(place, 0, ((CELLS - 1) << _FRACTION_BITS) - 1, out=place)
    cell = place >> _FRACTION_BITS
    fraction = place & ((1 << _FRACTION_BITS) - 1)
    below = table[cell]
    value = below + (((table[cell + 1] - below) * fraction) >> _FRACTION_BITS)
    return (value + (1 << (_SUB_BITS - 1))) >> _SUB_BITS


class Sampler:
    """Draws of one distribution under one key.

    `constant` is the value when it never varies, else None.
    """

    __slots__ = (
        "key",
        "kind",
        "constant",
        "nominal_us",
        "_low_us",
        "_width_us",
        "_table",
        "_block_number",
        "_block",
        "_blocks",
    )

    def __init__(self, distribution: Varying, key: int) -> None:
        """Raises ValueError for an unknown kind or a span out of bounds."""
        self.key = key
        self.kind = distribution.kind
        self.nominal_us = distribution.nominal_us
        self._low_us = distribution.low_us
        self._width_us = distribution.high_us - distribution.low_us + 1
        self._check(distribution)
        self.constant = self._constant(distribution)
        varies = self.constant is None and self.kind in ("lognormal", "exponential")
        sigma = distribution.sigma_millionths if self.kind == "lognormal" else 0
        self._table = quantile_table(self.kind, distribution.value_us, sigma) if varies else None
        self._block_number = -1
        self._block: list[int] = []
        self._blocks: dict[int, list[int]] = {}

    def redrawn(self, key: int, spread_millionths: int) -> Sampler:
        """The same distribution under another key; a constant is drawn from a spread below it up to it."""
        if self.constant and spread_millionths:
            low_us = self.constant - self.constant * spread_millionths // MILLIONTHS
            return Sampler(Span("uniform", low_us=low_us, high_us=self.constant), key)
        other = copy(self)
        other.key, other._block_number, other._block, other._blocks = key, -1, [], {}
        return other

    @staticmethod
    def _check(distribution: Varying) -> None:
        kind = distribution.kind
        if kind not in KINDS:
            raise ValueError(f"a distribution of kind {kind!r} is unknown; use one of {', '.join(KINDS)}")
        if kind == "uniform":
            if not 0 <= distribution.low_us <= distribution.high_us <= LONGEST_US:
                raise ValueError(
                    f"a uniform span from {distribution.low_us} us to {distribution.high_us} us is "
                    f"impossible; both must lie within 0..{LONGEST_US}, the lower first"
                )
        elif not 0 <= distribution.value_us <= LONGEST_US:
            raise ValueError(
                f"a {kind} span of {distribution.value_us} us is out of bounds; use 0..{LONGEST_US}"
            )
        if kind == "lognormal" and not 0 <= distribution.sigma_millionths <= LARGEST_SIGMA * MILLIONTHS:
            raise ValueError(
                f"a lognormal sigma of {distribution.sigma_millionths} millionths is out of "
                f"bounds; use a "
                f"sigma of 0..{LARGEST_SIGMA}"
            )

    @staticmethod
    def _constant(distribution: Varying) -> int | None:
        if distribution.kind == "uniform":
            return distribution.low_us if distribution.low_us == distribution.high_us else None
        if distribution.kind == "constant" or distribution.value_us == 0:
            return distribution.value_us
        if distribution.kind == "lognormal" and distribution.sigma_millionths == 0:
            return distribution.value_us
        return None

    @property
    def least_us(self) -> int:
        """The shortest possible draw."""
        if self.constant is not None:
            return self.constant
        return (
            self._low_us if self._table is None else int(self._table[0]) + (1 << (_SUB_BITS - 1)) >> _SUB_BITS
        )

    def at(self, index: int) -> int:
        """Draw `index` in microseconds, 0 or more."""
        if index >> _BLOCK_BITS == self._block_number:
            return self._block[index & (BLOCK - 1)]
        if self.constant is not None:
            return self.constant
        return self._turn_to(index >> _BLOCK_BITS)[index & (BLOCK - 1)]

    def _turn_to(self, number: int) -> list[int]:
        """Make block `number` the present one, from the cache or newly computed."""
        block = self._blocks.get(number)
        if block is None:
            if len(self._blocks) >= BLOCKS_KEPT:
                del self._blocks[next(iter(self._blocks))]  # the oldest; dictionaries keep insertion order
            block = self._blocks[number] = self._draw_spans(number << _BLOCK_BITS)
        self._block_number = number
        self._block = block
        return block

    def _draw_spans(self, first: int) -> list[int]:
        draws = draw_block(self.key, first, BLOCK)
        if self._table is not None:
            return interpolate(self._table, draws).tolist()
        low, width = self._low_us, self._width_us
        return [low + (value * width >> 64) for value in draws.tolist()]


def interval_sampler(mean_us: int, key: int) -> Sampler:
    """Intervals between the arrivals of a Poisson process, `mean_us` in the mean."""
    return Sampler(Span("exponential", mean_us), key)
