"""`python -m script.real_brokers.again DIR…`: makes the results of played runs again, without brokers.

It reads what the brokers reported (`raw.jsonl.gz`) and writes traces, figures and `pairs.jsonl` anew, after a
change of the engine or of the conversion. A DIR has jobs, or is one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from script.real_brokers.calibration import read_calibration
from script.real_brokers.output import CALIBRATION, RAW, read_scenario, write_pairs, write_results, write_text
from script.real_brokers.plan import DRIFT, with_times
from script.real_brokers.recording import RecordingError, read_recording
from script.real_brokers.times_of_run import MEASURED, times_of_run, with_ack_timers
from script.support.processes import say
from simulator.protocols.pulsar.scenario.model import PulsarScenario


def main(folders: Sequence[str]) -> int:
    """Make the results of every job again; 1 when a recording contradicts itself, 2 without any job."""
    jobs = [job for folder in folders for job in _jobs(Path(folder))]
    if not jobs:
        say(f"There is no played job in {', '.join(folders) or 'no folder'}: name the --out of real-brokers.")
        return 2
    failed = [_again(job) for job in jobs]
    return 1 if any(failed) else 0


def _jobs(folder: Path) -> Iterator[Path]:
    found = sorted({path.parent.parent for path in folder.glob(f"**/run-*/{RAW}")})
    yield from (job for job in found if (job / "scenario.yaml").exists())


def _again(job: Path) -> int:
    """Returns the number of runs without figures."""
    scenario, pairs, failed = read_scenario(job), [], 0
    predicted = read_calibration(job / CALIBRATION) if (job / CALIBRATION).exists() else None
    for path in sorted(job.glob(f"run-*/{RAW}")):
        recording = read_recording(path)
        entries = [entry for log in recording.dumps.values() for entry in log]
        played = _without_times(path.parent, scenario)
        if predicted is None:
            played = with_times(played, times_of_run(recording.events, entries))
            played = with_ack_timers(played, recording.events, recording.zero_ns)
        else:
            played = with_times(played, predicted.options)
        write_text(path.parent / "scenario.yaml", played.canonical_text)
        try:
            pairs.append(write_results(path.parent, played, recording, scenario))
        except RecordingError as error:
            failed += 1
            say(f"{job.name}, {path.parent.name}: {error}")
    write_pairs(job, pairs)
    say(f"{job.name}: written again, {len(pairs)} of {len(pairs) + failed} runs.")
    return failed


def _without_times(run: Path, job: PulsarScenario) -> PulsarScenario:
    """A run's scenario without the times that were measured in it before."""
    played = read_scenario(run)
    kept = {
        name: value
        for name, value in played.options.items()
        if name not in (*MEASURED, DRIFT) or name in job.options
    }
    consumers = {
        name: replace(spec, acknowledgment_group_phase_us=job.consumers[name].acknowledgment_group_phase_us)
        for name, spec in played.consumers.items()
    }
    return replace(played, options=kept, consumers=consumers)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
