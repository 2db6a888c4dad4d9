"""Twenty runs of one set-up, a slice at a time, driven by the pump beside the labs.

Rules: one world at a time, and none is kept. Reading a text, building a world and counting a run happen in a
thread, since they cannot be cut. Each run's result is sent at once. The client may disconnect at any slice.
An internal error stops this study only, and is reported.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async

from simulator import ScenarioError, World, load_scenario_text
from visualizer.labs.sliced import SlicedTask
from visualizer.labs.work import Wait, Work, in_thread
from visualizer.live.wire import Refused, problems_counted
from visualizer.pages.scenario_reading import read_soon
from visualizer.setups.reading import NO_FAILURE, Failure, read_text
from visualizer.setups.variations import Variation, period_us, variations

logger = logging.getLogger(__name__)

ROWS_OF_A_RUN = 500_000
"""Most rows of each of the twenty runs, about ten seconds of engine time.

A set-up with more is refused as too large.
"""

FIGURES = (
    "at_us",
    "duplicates",
    "redeliveries",
    "lost",
    "stranded",
    "stranded_unprocessed",
    "stranded_missing",
    "outage_us",
    "caught_up_us",
    "drained_us",
    "by_cause",
)
"""Figures sent for each run: names of `failovers[]` in the summary."""

Progress = Callable[[dict[str, Any]], None]

_load = partial(read_soon, load_scenario_text)
_read = sync_to_async(read_text, thread_sensitive=False)
_build = sync_to_async(
    lambda scenario: World.from_scenario(scenario, rows_max=ROWS_OF_A_RUN, begun=False),
    thread_sensitive=False,
)


class Study(SlicedTask):
    """A study that the pump drives.

    `report` is called with each message. `ended` is called once, however the study ends.
    """

    def __init__(self, name: str, text: str, report: Progress, ended: Callable[[Study], None]) -> None:
        super().__init__(name)
        self._report, self._ended = report, ended
        self.world: Any = None  # of the current run
        self.begin(self._runs(text))

    # --- turns, called by the pump

    def turn(self, now_s: float) -> bool:
        """One slice of a run."""
        if not self.ready:
            return False
        try:
            self.step()
        except StopIteration:
            self._report({"type": "done"})
            self._end()
        except Refused as refused:
            self._report(refused.answer())
            self._end()
        return True

    def failed(self, error: BaseException) -> None:
        """Report an internal error, or that the text with moved instants is no valid scenario."""
        if isinstance(error, ScenarioError):
            self._report(
                Refused(
                    "bad-scenario",
                    f"With its instants moved by up to one snapshot period this is no scenario: {error}",
                    "Let it end earlier, or take a shorter period.",
                ).answer()
            )
            self._end()
            return
        logger.error("A set-up's runs stopped on an internal error", exc_info=error)
        self._report(
            Refused(
                "engine-bug",
                f"Internal error, so there is no answer: {type(error).__name__}: {error}"[:600],
                "Nothing that you did is wrong. Please report it with the scenario's text.",
            ).answer()
        )
        self._end()

    def cancel(self) -> None:
        """Stop without an answer, as when the client has disconnected."""
        self._end()

    def _end(self) -> None:
        if self.close():
            self._ended(self)

    # --- the runs

    def _runs(self, text: str) -> Work:
        reading = yield Wait(partial(_read, text))
        if reading.scenario is None:
            raise Refused(
                "bad-scenario",
                f"The scenario has {problems_counted(len(reading.problems))}.",
                "Fix every problem listed and start again.",
            )
        failure = reading.failure
        if failure is None:
            raise Refused(
                "no-failure",
                NO_FAILURE,
                (
                    "commands: - {at: 30s, do: subscription.fail-over, subscription: …, from: …, to: …, "
                    "mode: crash}"
                ),
            )
        asked = variations(reading.scenario, failure)
        self._report(_asked(reading.scenario, failure, asked))
        for variation in asked:
            scenario = yield Wait(partial(_load, text, seed=variation.seed, overrides=variation.overrides))
            figures = yield from self._run(scenario, failure)
            self._report({"type": "run", "seed": variation.seed, **figures})

    def _run(self, scenario: Any, failure: Failure) -> Work:
        """Run one scenario to its end and return the figures of its fail-over."""
        world = self.world = yield Wait(partial(_build, scenario))
        while world.advance(scenario.until_us, self.size.take()):
            yield None
        if world.limit_reached:
            raise Refused(
                "too-large",
                (
                    f"One run of this set-up writes more than {ROWS_OF_A_RUN:,} rows, the most that is "
                    "counted here."
                ),
                (
                    "Lower the rate, or let it run for a shorter time; a lab of its own may hold ten times "
                    "as many."
                ),
            )
        refused = [
            result["error"]
            for result in world.command_results
            if result["command"] == "subscription.fail-over" and not result["ok"]
        ]
        if refused:
            raise Refused(
                "refused",
                f"The failover is refused at its instant: {refused[0]}",
                "Change which region goes down, or where the consumers move.",
            )
        failovers = yield in_thread(world.failovers)
        found = next((one for one in failovers if one["subscription"] == failure.subscription), None)
        if found is None:
            raise Refused(
                "no-failure",
                "The run ends before the consumers move.",
                "Let it run for longer, or let the region go down earlier.",
            )
        return {name: found[name] for name in FIGURES}


def _asked(scenario: Any, failure: Failure, asked: list[Variation]) -> dict[str, Any]:
    """The planned runs, so that the page can show them and open any of them."""
    return {
        "type": "asked",
        "from": failure.source,
        "to": failure.target,
        "mode": failure.mode,
        "at_us": failure.at_us,
        "period_us": period_us(scenario, failure.source),
        "runs": [
            {"seed": one.seed, "at_us": one.at_us, "set": [list(pair) for pair in one.overrides]}
            for one in asked
        ],
    }
