"""Runs again: the inputs of a run as a variant, and the executor that runs variants in slices.

Rules: a variant is inputs only, so it can be run, saved and linked like any run. Variants run one after the
other, each in a world of its own that changes no other one. Those that are equal up to an instant share this
past: it is run once, and each goes on from a fork of it. How the work is cut into slices changes no row.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from simulator.scenarios.canonical import Variant
from simulator.scenarios.model import Scenario
from simulator.system.commanding import schedule_commands
from simulator.world import ROWS_MAX, World

ALL_EVENTS = 1 << 62
"""The queue events of a slice that is not cut."""

SETTLING_US = 250_000
"""Simulated time between two looks at whether the measures are final: a few round trips and ack groups."""

Result = TypeVar("Result")
Slices = Generator[Callable[[], Any] | None, Any, Result]
"""Yields None after a slice, or a function that may take long: its result is to be sent back."""


class Runs:
    """Runs variants, one after the other.

    `world` is the run under way, None between two, and `variant` its inputs. `events` returns the queue
    events of the next slice. With `figures_only` worlds have no checkpoints, and too many rows raise
    RunFailed (`World`).
    """

    def __init__(
        self,
        events: Callable[[], int] = lambda: ALL_EVENTS,
        rows_max: int | None = ROWS_MAX,
        figures_only: bool = False,
    ) -> None:
        self.world: World | None = None
        self.variant: Variant | None = None
        self.outcomes: list[Any] = []  # of the runs of `each`
        self.of = 0  # the number of these runs
        self._events, self._rows_max, self._figures_only = events, rows_max, figures_only
        self._past: World | None = None
        self._past_scenario: Scenario | None = None
        self._past_fork: Callable[..., World] | None = None

    def each(
        self,
        variants: Sequence[Variant],
        outcome_of: Callable[[Variant, World], Any],
        is_comparable: Callable[[Any], Any] = lambda first: True,
    ) -> Slices[list[Any]]:
        """Run the variants to their ends, and return the outcome of each; `outcomes` has those so far.

        Only the first one runs where its outcome is not comparable, such as that of a run without cases.
        """
        self.of = len(variants)
        return self._each(variants, outcome_of, is_comparable)

    def _each(
        self,
        variants: Sequence[Variant],
        outcome_of: Callable[[Variant, World], Any],
        is_comparable: Callable[[Any], Any],
    ) -> Slices[list[Any]]:
        for variant in variants:
            world = yield from self.run(variant)
            self.outcomes.append((yield partial(outcome_of, variant, world)))
            self.world = self.variant = None
            if not is_comparable(self.outcomes[0]):
                break
        return self.outcomes

    @property
    def done(self) -> int:
        """The number of runs of `each` that have ended."""
        return len(self.outcomes)

    def release(self) -> None:
        """Forget the worlds. The outcomes stay."""
        self.world = self.variant = self._past = self._past_scenario = self._past_fork = None

    def run(self, variant: Variant, measures: Sequence[str] | None = None) -> Slices[World]:
        """The world of a variant at its end, or as soon as these measures are final."""
        self.variant, self.world = variant, None
        world = self.world = yield from self._begin(variant)
        end_us = variant.end_us
        if measures is None:
            yield from self._go(world, end_us)
            return world
        is_settled = world.protocol.measured.settled
        last_us = max((spec.at_us for spec in variant.scenario.commands), default=0)
        yield from self._go(world, min(end_us, max(last_us, world.now_us)))
        while world.now_us < end_us and not is_settled(world.runtime, measures):
            yield from self._go(world, min(end_us, world.now_us + SETTLING_US))
        return world

    def _go(self, world: World, until_us: int) -> Slices[None]:
        while world.advance(until_us, self._events()):
            yield None

    def _begin(self, variant: Variant) -> Slices[World]:
        """The world of a variant at its beginning, or at the instant at which it forks."""
        if variant.fork_us is not None and variant.fork_us >= 0:
            return (yield from self._forked(variant, variant.fork_us))
        world: World = yield lambda: self._made(variant.scenario, variant.seed)
        for entry in variant.commands:
            world.schedule_logged(entry)
        return world

    def _forked(self, variant: Variant, fork_us: int) -> Slices[World]:
        """A fork of the past that the variant shares with the one before it, or of a new past."""
        assert not variant.commands, "commands by hand are not shared"
        scenario = variant.scenario
        ordered = sorted(scenario.commands, key=lambda spec: spec.at_us)
        earlier = tuple(spec for spec in ordered if spec.at_us <= fork_us)
        past, known = self._past, self._past_scenario
        if past is None or known is None or not _continues(past, known, variant, earlier):
            known = replace(scenario, commands=())
            past = self._past = yield lambda: self._made(replace(scenario, commands=()), variant.seed)
            self._past_fork = None
        if self._past_fork is None or past.now_us < fork_us:
            self.world, self._past_fork = past, None
            schedule_commands(past.runtime, earlier[len(known.commands) :])
            self._past_scenario = replace(scenario, commands=earlier)
            yield from self._go(past, fork_us)
            self._past_fork = past.forks()
        yield None
        world = self._past_fork(scenario)
        schedule_commands(world.runtime, ordered[len(earlier) :])
        return world

    def _made(self, scenario: Scenario, seed: int | None) -> World:
        return World(scenario, seed, self._rows_max, begun=False, figures_only=self._figures_only)


def _continues(past: World, known: Scenario, variant: Variant, earlier: tuple[Any, ...]) -> bool:
    """Whether a past, with the commands of `known`, is that of a variant, or goes on to be it."""
    scenario, count = variant.scenario, len(known.commands)
    same = replace(
        scenario, commands=known.commands, until_us=known.until_us, canonical_text=known.canonical_text
    )
    return (
        past.now_us <= (variant.fork_us or 0)
        and past.seed == (scenario.seed if variant.seed is None else variant.seed)
        and same == known
        and earlier[:count] == known.commands
        and all(spec.at_us > past.now_us for spec in earlier[count:])
    )


def finished(work: Slices[Result], go_on: Callable[[], None] = lambda: None) -> Result:
    """The result of the work, done in one call. `go_on` is called after each slice and may raise to stop."""
    sent = None
    while True:
        try:
            long = work.send(sent)
        except StopIteration as end:
            return end.value
        go_on()
        sent = None if long is None else long()
