"""One directed link between two clusters: bandwidth first, then latency.

Rules: a link does not depend on what it carries. The caller checks whether it is `up` before sending. FIFO
holds per connection, so the caller keeps the latest arrival of each connection and takes the maximum.
`restore` sets the fields of the existing object, so references to a link remain valid after a seek.
"""

from __future__ import annotations

from simulator.kernel.distributions import Sampler

MICROSECONDS_PER_SECOND = 1_000_000


class Link:
    """The state of one directed link.

    `slow_us` overrides the latency while it is set. `constant_us` is the latency now, None where it varies.
    `free_at_us` is when the last accepted byte has left the source.
    """

    __slots__ = (
        "source",
        "target",
        "sampler",
        "bandwidth_bytes_per_s",
        "nominal_us",
        "up",
        "constant_us",
        "free_at_us",
        "_slow_us",
    )

    def __init__(
        self, source: str, target: str, sampler: Sampler, bandwidth_bytes_per_s: int | None = None
    ) -> None:
        """Raises ValueError for a bandwidth below one byte per second."""
        if bandwidth_bytes_per_s is not None and bandwidth_bytes_per_s < 1:
            raise ValueError(
                f"link {source} -> {target}: bandwidth is {bandwidth_bytes_per_s} bytes per second; "
                "give at least 1, or none for unlimited"
            )
        self.source = source
        self.target = target
        self.sampler = sampler
        self.bandwidth_bytes_per_s = bandwidth_bytes_per_s
        self.nominal_us = sampler.nominal_us
        self.up = True
        self.free_at_us = 0
        self.slow_us = None

    @property
    def slow_us(self) -> int | None:
        """The latency set by a command, None when the configured one applies."""
        return self._slow_us

    @slow_us.setter
    def slow_us(self, latency_us: int | None) -> None:
        self._slow_us = latency_us
        self.constant_us = self.sampler.constant if latency_us is None else latency_us

    def sampler_changed(self) -> None:
        """Its sampler has been replaced."""
        self.slow_us = self._slow_us

    @property
    def least_us(self) -> int:
        """The shortest possible latency now."""
        return self.sampler.least_us if self.constant_us is None else self.constant_us

    def latency_us(self, draw_index: int) -> int:
        """The latency under draw `draw_index`, without bandwidth."""
        return self.sampler.at(draw_index) if self.constant_us is None else self.constant_us

    def transmit(self, now_us: int, size_bytes: int, draw_index: int) -> int:
        """Send `size_bytes` at `now_us`; returns the instant at which the last byte arrives."""
        bandwidth = self.bandwidth_bytes_per_s
        if bandwidth is not None:
            if now_us < self.free_at_us:
                now_us = self.free_at_us
            # Rounded up: a byte is never early.
            now_us += (size_bytes * MICROSECONDS_PER_SECOND + bandwidth - 1) // bandwidth
            self.free_at_us = now_us
        constant_us = self.constant_us
        return now_us + (self.sampler.at(draw_index) if constant_us is None else constant_us)

    def cut(self) -> None:
        """Take the link down: nothing can be sent, and what has not left the source is lost."""
        self.up = False
        self.drop_waiting()

    def heal(self) -> None:
        """Restore the declared state: up, with the latency of the sampler."""
        self.up, self.slow_us = True, None

    def drop_waiting(self) -> None:
        """Drop the bytes that have not left the source."""
        self.free_at_us = 0

    def capture(self) -> tuple[bool, int | None, int]:
        """The live state as plain data."""
        return self.up, self.slow_us, self.free_at_us

    def restore(self, captured: tuple[bool, int | None, int]) -> None:
        """Go back to a captured state."""
        self.up, self.slow_us, self.free_at_us = captured
