"""Which batches of a sweep are missing, and how they are cut into rounds and tasks.

Rules: batches of many phases are cut, and those of a round with fewer batches than cores are cut further.
Every part simulates again what its runs share. A round is one Spark job. The first has one batch for each
core, so that results appear at once. Later ones last longer and longer, since each round costs a fraction of
a second and its last tasks leave cores idle. What a killed driver loses is one round at most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.experiments import Batch, Experiment, batches

ROUND_S, ROUND_S_MOST = 5.0, 60.0
"""Seconds of the first measured rounds, and of the longest."""
SHARE_OF_ELAPSED = 0.05
"""A round lasts this share of the time since the start, within these bounds."""
GROWTH = 4
"""The most by which a round has more batches than the one before."""
TASK_S = 0.5
"""Seconds of a task: starting one costs about 10 ms, and cores idle for half of one at the end of a round."""
PHASES_MOST = 100
"""The most runs of a batch: sharing their first part among more saves little, and the rows arrive later."""
TASKS_MOST = 10_000
"""The most tasks of a round."""


class Plan:
    """The batches of an experiment, by number, and the runs of each."""

    def __init__(self, experiment: Experiment) -> None:
        self.batches = [
            part
            for batch in batches(experiment)
            for part in batch.parts(-(-experiment.phases // PHASES_MOST))
        ]
        self.first_runs = np.array([batch.first_run + batch.phases[0] for batch in self.batches], np.int64)
        self.sizes = np.diff(self.first_runs, append=experiment.runs)
        self._rank = {seed: rank for rank, seed in enumerate(experiment.seeds)}

    def missing(self, finished: np.ndarray) -> list[int]:
        """The batches with a run that is not finished; each seed runs at every point before the next seed.

        So early results cover the whole grid.
        """
        complete = np.add.reduceat(finished.astype(np.int64), self.first_runs) == self.sizes
        numbers = np.flatnonzero(~complete).tolist()
        return sorted(numbers, key=lambda number: self._rank[self.batches[number].seed])

    def runs_of(self, numbers: Sequence[int]) -> int:
        """The number of runs of some batches."""
        return int(self.sizes[list(numbers)].sum())

    def limited(self, numbers: list[int], runs: int) -> list[int]:
        """The first batches that together have at least so many runs."""
        ends = np.cumsum(self.sizes[numbers])
        return numbers[: int(np.searchsorted(ends, runs)) + 1]


class Pace:
    """Decides how many batches a round has, from the time that the last one took."""

    def __init__(self, batch_s: float | None = None) -> None:
        self.batch_s = batch_s
        self._last = 0
        self._rounds = 0
        self._elapsed_s = 0.0

    @property
    def has_measured(self) -> bool:
        """Whether a round was measured."""
        return self._rounds > 0

    def measured(self, batches: int, seconds: float, cores: int) -> None:
        """Record a round; `batch_s` becomes the time of one core for one batch.

        The first round is slow, since executors start and import, so an estimate remains if it is lower.
        From the third on it is averaged with the rounds before, since settings and machine vary.
        """
        found_s = seconds * min(cores, batches) / batches
        if self.batch_s is None or self._rounds == 1:
            self.batch_s = found_s
        elif self._rounds == 0:
            self.batch_s = min(found_s, self.batch_s)
        else:
            self.batch_s = (self.batch_s + found_s) / 2
        self._rounds += 1
        self._last = batches
        self._elapsed_s += seconds

    def batches(self, cores: int) -> int:
        """The batches of the next round: a multiple of the cores."""
        if self.batch_s is None or not self._rounds:
            return cores
        lasting_s = min(max(ROUND_S, SHARE_OF_ELAPSED * self._elapsed_s), ROUND_S_MOST)
        wanted = min(int(lasting_s * cores / max(self.batch_s, 1e-6)), GROWTH * self._last)
        return max(cores, wanted // cores * cores)

    def chunks(self, numbers: Sequence[int], cores: int) -> list[list[int]]:
        """The batches of each task."""
        each = max(1, int(TASK_S / self.batch_s)) if self.batch_s else 1
        tasks = min(max(cores, -(-len(numbers) // each)), len(numbers), TASKS_MOST)
        return [list(numbers[task::tasks]) for task in range(tasks)]

    def left_s(self, batches: int, cores: int) -> float | None:
        """Seconds until so many batches have run, None before the first measurement."""
        return None if self.batch_s is None else batches * self.batch_s / min(cores, max(batches, 1))


def batches_of(plan: Plan, chunks: Sequence[Sequence[int]], cores: int) -> list[list[Batch]]:
    """The batches of each task. Where there are fewer than cores, their phases are spread over more tasks."""
    found = [[plan.batches[number] for number in chunk] for chunk in chunks]
    count = sum(map(len, found))
    if count >= cores:
        return found
    return [[part] for chunk in found for batch in chunk for part in batch.parts(-(-cores // count))]
