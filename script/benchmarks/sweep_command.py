"""The command `sweep` with ten thousand runs of the part `sweep`'s scenario, from start to report.

Measured is the whole command on two local cores: start of Python, Java and workers, estimate, runs, report.
The alternative is its processor time, which other work on the machine changes less. It is sampled, since
Spark's daemon of workers does not wait for them and so loses theirs. `python -m
script.benchmarks.sweep_command RUNS` measures so many runs and prints one JSON object.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from script.benchmarks.measure import ROOT, Figure, in_own_process
from script.benchmarks.sweep import PHASES, experiment_text

TARGET_RUNS, TARGET_SECONDS, CORES = 10_000, 600, 2

SUBREAPER = 36
"""Linux's PR_SET_CHILD_SUBREAPER: Java outlives the command, and its processor time counts, too."""
SAMPLE_S = 0.25


class ProcessorTime(threading.Thread):
    """Samples the processor time of every descendant of this process, until `stop`."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self._ticks: dict[tuple[int, str], int] = {}

    def run(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self._sample()

    def stop(self) -> float:
        """End the thread and return the processor seconds of all processes that it has seen."""
        self._over.set()
        self.join()
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    def _sample(self) -> None:
        found: dict[int, list[str]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                found[int(path.parent.name)] = path.read_text().rsplit(")", 1)[1].split()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it ended meanwhile
        ours = {os.getpid()}
        for pid in sorted(found, key=lambda pid: int(found[pid][19])):  # parents start before their children
            if int(found[pid][1]) in ours:
                ours.add(pid)
                self._ticks[pid, found[pid][19]] = int(found[pid][11]) + int(found[pid][12])


def run_command(runs: int) -> dict[str, float]:
    """Seconds and processor seconds of the command; RuntimeError if it failed or runs are missing."""
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="failover-lab-") as folder:
        experiment, out = Path(folder) / "experiment.yaml", Path(folder) / "out"
        text = experiment_text(phases=PHASES).replace("seeds: [1]", f"seeds: {runs // PHASES}")
        experiment.write_text(text, encoding="utf-8")
        processor = ProcessorTime()
        processor.start()
        began = time.perf_counter()
        answer = subprocess.run(
            [
                *(sys.executable, "-m", "spark_reports", "sweep", str(experiment)),
                *("--out", str(out), "--master", f"local[{CORES}]"),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.perf_counter() - began
        _wait_for_all()
        processor_s = processor.stop()
        wanted = f"{runs:,} of {runs:,} runs finished, 0 failed"
        if answer.returncode or wanted not in answer.stdout or not (out / "sweep.html").exists():
            raise RuntimeError(f"the sweep ended with code {answer.returncode}: {answer.stderr[-2000:]}")
    return {"seconds": seconds, "processor_s": processor_s}


def _wait_for_all() -> None:
    """Wait for every process that the command has left, so that their processor time is known."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def measure() -> list[Figure]:
    found = in_own_process(__name__, str(TARGET_RUNS))
    return [
        Figure(
            "sweep_command",
            f"the whole command with {TARGET_RUNS:,} runs on {CORES} cores",
            found["seconds"],
            "s",
            "its processor time",
            found["processor_s"],
            f"at most {TARGET_SECONDS} s",
            found["seconds"] <= TARGET_SECONDS,
        )
    ]


if __name__ == "__main__":
    print(json.dumps(run_command(int(sys.argv[1]))))
