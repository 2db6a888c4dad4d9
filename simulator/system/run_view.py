"""The read-only interface of a `World` for views, summary sections and what-if tables.

Rules: reading never changes the run. Naming this type instead of `World` keeps the imports one way: the world
imports the protocols, never the other way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from simulator.counting.results import CountedRun
    from simulator.scenarios.model import Scenario
    from simulator.trace.trace import Trace


class RunView(Protocol):
    """A run at the end of an instant; `runtime` is the protocol's own `System`."""

    scenario: Scenario
    seed: int
    runtime: Any

    @property
    def now_us(self) -> int: ...

    @property
    def seq(self) -> int:
        """Rows up to now; the trace may hold more, of later instants."""
        ...

    @property
    def trace(self) -> Trace: ...

    @property
    def branch(self) -> int: ...

    @property
    def furthest_us(self) -> int: ...

    @property
    def limit_reached(self) -> str | None: ...

    @property
    def subscriptions(self) -> list[str]: ...

    @property
    def command_results(self) -> list[dict]:
        """The result of each command so far, as copies."""
        ...

    @property
    def violations(self) -> list: ...

    def violations_until(self, at_us: int) -> list: ...

    def all_violations(self, failovers: list[dict]) -> list: ...

    def counted(self) -> CountedRun:
        """The results of counting up to now."""
        ...

    def summary(self) -> dict: ...

    def live_failovers(self) -> list[dict]: ...

    def forecast(self, subscription: str, source: str | None = None) -> dict[str, dict[str, int]]: ...

    def digest(self) -> str: ...
