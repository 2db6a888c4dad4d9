"""`script/real-brokers`: plays scenarios on real brokers and on the engine, and writes both results.

Exit codes: 0 all runs were played and written, 1 a run failed, 2 something is missing or cannot be played,
128 + signal after a stop.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from script.real_brokers.arguments import Arguments, parse
from script.real_brokers.calibration import Calibration, CalibrationError, read_calibration
from script.real_brokers.install import (
    Installation,
    InstallationError,
    busy,
    check_memory,
    installed,
    load_average,
    version_for,
)
from script.real_brokers.live_run import RunError
from script.real_brokers.output import CALIBRATION, PairsError, read_pairs, write_pairs, write_run, write_text
from script.real_brokers.plan import job_names, job_text, make_run, problems, runs_at_once, with_version
from script.real_brokers.play import play_batch, warm_up
from script.real_brokers.recording import RecordingError
from script.real_brokers.rig import ProcessError, Rig, Stopping
from script.support.processes import Stopped, Supervisor, say
from simulator.protocols.pulsar.scenario.model import PulsarScenario
from simulator.scenarios.builtin import builtin_text, scenario_names
from simulator.scenarios.loader import load_scenario, load_scenario_text
from simulator.scenarios.model import Scenario
from simulator.scenarios.tree import Problem, ScenarioError, suggestion

EXIT_FINE, EXIT_FAILED, EXIT_BAD_INPUT = 0, 1, 2


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = parse(words)
    supervisor = Supervisor(interrupting=True)
    try:
        with supervisor:
            return play_all(arguments)
    except (InstallationError, PairsError, CalibrationError) as error:
        say(str(error))
        return EXIT_BAD_INPUT
    except (ProcessError, RunError, Stopping) as error:
        say(f"The runs could not be completed. {error}")
        return EXIT_FAILED
    except Stopped:
        say("Stopped. The runs that were written are complete.")
        return 128 + (supervisor.stop_signal or 0)


def play_all(arguments: Arguments) -> int:
    """Check all scenarios, then play one after the other."""
    try:
        scenarios = load_all(arguments.scenarios, arguments.version)
    except ScenarioError as error:
        say(str(error))
        return EXIT_BAD_INPUT
    for scenario, version in scenarios:
        say(f"{scenario.name}: can be played on Pulsar {version}.{title_of(scenario, arguments)}")
    calibration = read_calibration(arguments.calibration) if arguments.calibration else None
    if arguments.check:
        return EXIT_FINE
    text = calibration.text if calibration else None
    earlier = {
        scenario.name: read_pairs(arguments.out / scenario.name, scenario, version, text)
        for scenario, version in scenarios
        if arguments.resume
    }
    versions = dict.fromkeys(version for _scenario, version in scenarios)
    installations = {version: installed(version, say) for version in versions}
    check_memory(max(len(scenario.clusters) for scenario, _version in scenarios))
    # commands of runs are timed: a thread that waits for the interpreter must not wait for 5 ms
    sys.setswitchinterval(0.0005)
    failed = [
        play(scenario, installations[version], arguments, earlier.get(scenario.name, ()), calibration)
        for scenario, version in scenarios
    ]
    return EXIT_FAILED if any(failed) else EXIT_FINE


def title_of(scenario: PulsarScenario, arguments: Arguments) -> str:
    """The title where scenarios are only listed."""
    return f" {scenario.title}" if arguments.check else ""


def load_all(names: Sequence[str], given: str | None) -> list[tuple[PulsarScenario, str]]:
    """The scenarios, each with its version; raises ScenarioError with all that cannot be loaded or played."""
    loaded: dict[str, tuple[PulsarScenario, str]] = {}
    found: list[Problem] = []
    for name in names:
        try:
            scenario, text, source = load_one(name)
        except ScenarioError as error:
            found += error.problems
            continue
        version = given or version_for(scenario.options)
        mine = problems(scenario, text, source, version)
        if scenario.name in loaded:
            what, right = f"{scenario.name} is the name of two scenarios", "give them different names"
            mine.append(Problem(name, None, None, "name", what, right))
        found += mine
        if not mine and isinstance(scenario, PulsarScenario):
            loaded[scenario.name] = with_version(scenario, version), version
    if found:
        raise ScenarioError(found)
    return list(loaded.values())


def load_one(name: str) -> tuple[Scenario, str, str]:
    """The scenario of a job, a built-in one, or that of a file; with its text and the source for problems."""
    if name in job_names():
        text, source = job_text(name), f"{name}.yaml"
        return load_scenario_text(text, source), text, source
    if name in scenario_names():
        return load_scenario(name), builtin_text(name), f"{name}.yaml"
    if Path(name).suffix not in (".yaml", ".yml") and not Path(name).exists():
        known = suggestion(name, (*job_names(), *scenario_names()))
        right = f"name a job, a built-in scenario or a .yaml file: {known}"
        what = "no job and no built-in scenario has this name"
        raise ScenarioError([Problem(name, None, None, "", what, right)])
    return load_scenario(name), Path(name).read_text(encoding="utf-8"), name


def play(
    scenario: PulsarScenario,
    installation: Installation,
    arguments: Arguments,
    earlier: Sequence[dict[str, Any]] = (),
    calibration: Calibration | None = None,
) -> int:
    """Play all runs of one scenario but the earlier ones, and write them after each batch.

    Returns the number of runs whose recording contradicts itself: their raw recordings are kept.
    """
    job = arguments.out / scenario.name
    played_before = {pair["run"] for pair in earlier}
    numbers = [number for number in range(1, arguments.runs + 1) if number not in played_before]
    if not numbers:
        say(f"{scenario.name}: {job} has these runs already.")
        return 0
    job.mkdir(parents=True, exist_ok=True)
    write_text(job / "scenario.yaml", scenario.canonical_text)
    if calibration:
        write_text(job / CALIBRATION, calibration.text)
    else:
        (job / CALIBRATION).unlink(missing_ok=True)  # of runs that are replaced
    pairs, failed = list(earlier), 0
    rig = Rig(scenario, job / "processes", installation)
    rig.remove_data()  # of a job that was killed, or that kept it: its topics have the same names
    try:
        with rig:
            rig.start(say)
            at_once = min(arguments.at_once or runs_at_once(scenario), len(numbers))
            warm_up(rig, make_run(scenario, 0), at_once)
            for begin in range(0, len(numbers), at_once):
                batch = numbers[begin : begin + at_once]
                warning = busy(load_average())
                if warning:
                    say(warning)
                say(f"{scenario.name}: runs {batch[0]} to {batch[-1]} of {arguments.runs}…")
                plans = [make_run(scenario, number) for number in batch]
                times = calibration.options if calibration else None
                for played in play_batch(rig, [replace(plan, times=times) for plan in plans]):
                    try:
                        pairs.append(write_run(job, played, installation.version, scenario))
                    except RecordingError as error:
                        failed += 1
                        say(f"{scenario.name}, {played.plan.label}: {error}")
                write_pairs(job, pairs)
    finally:
        if not arguments.keep_data:
            rig.remove_data()
    without = f" {failed} runs have no figures; their raw recordings are there, too." if failed else ""
    say(f"{scenario.name}: {len(pairs)} runs are in {job}.{without}")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
