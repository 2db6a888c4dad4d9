"""Runs without a page, for `manage.py simulate`, `admin` and `scenarios`, scripts and notebooks.

Rules: the exit codes are a contract: 0 fine, 1 a check was violated, 2 bad input. The command turns any other
exception into 3, an internal error. Only the answer goes to `out`; progress and errors go to `err`. The run
is cut into slices for the progress bar only, which does not change a byte of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import ModuleType
from typing import Any, TextIO

from simulator.comparison import result, rule_runs, strategy_named, strategy_runs, under
from simulator.scenarios.builtin import scenario_names
from simulator.scenarios.loader import Override, broken_expectations, load_scenario, parse_overrides
from simulator.scenarios.model import Scenario
from simulator.scenarios.remarks import remarks
from simulator.scenarios.rule_files import load_rules
from simulator.scenarios.settings import OPTIONS, RULE
from simulator.scenarios.tree import Problem, ScenarioError, Wrong, read_all
from simulator.scenarios.units import parse_duration
from simulator.summary import readable_comparison, readable_summary
from simulator.system.admin_tools import AdminError, with_notes
from simulator.trace.json_lines import full_meta
from simulator.version import ENGINE_VERSION
from simulator.world import World

EXIT_FINE, EXIT_VIOLATED, EXIT_BAD_INPUT, EXIT_BUG = 0, 1, 2, 3

ROWS_MAX = 50_000_000
"""The most rows of a run without a page: about 2 GB of trace, ten times a lab's limit."""
BAR_CHARACTERS = 40


def simulate(
    scenario: str,
    out: TextIO,
    err: TextIO,
    *,
    seed: int | None = None,
    until: str | None = None,
    sets: Sequence[str] = (),
    trace_path: str | None = None,
    as_json: bool = False,
    progress: bool = False,
    strategy: str | None = None,
    rules: str | None = None,
) -> int:
    """Run a scenario (name, file or text), as it is or under a strategy or a file's rule, to its end.

    Prints its summary to `out` and writes its trace. Returns the exit code.
    """
    try:
        until_us, overrides, way, _ = read_all(
            lambda: _instant(until),
            lambda: parse_overrides(sets),
            lambda: strategy and strategy_named(strategy),
            lambda: _check_trace_path(trace_path),
        )
        loaded = _loaded(scenario, rules, overrides, seed=seed, until_us=until_us)
        loaded = loaded if way is None else under(loaded, way)
    except ScenarioError as error:
        err.write(f"{error}\n")
        return EXIT_BAD_INPUT
    if not as_json:
        err.writelines(f"{loaded.name}: {remark}\n" for remark in remarks(loaded))
    world = World.from_scenario(loaded, rows_max=ROWS_MAX)
    _run(world, loaded.until_us, _Bar(err) if progress else None)
    summary = world.summary()
    unwritten = None
    if trace_path is not None:
        try:
            trace_files().write_trace(trace_path, world.trace, trace_meta(world))
        except OSError as error:
            unwritten = (
                f"{trace_path}: cannot be written: {error.strerror}; the run is not lost, its summary "
                f"follows\n"
            )
    broken = broken_expectations(loaded.expect, summary) if _as_written(seed, until, sets, rules) else None
    out.write(
        json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        if as_json
        else readable_summary(loaded, summary, broken)
    )
    if world.limit_reached or unwritten:
        err.write(unwritten or "")
        err.write(f"{world.limit_reached}\n" if world.limit_reached else "")
        return EXIT_BAD_INPUT
    return EXIT_VIOLATED if summary["violations"] else EXIT_FINE


def compare(
    scenario: str,
    out: TextIO,
    err: TextIO,
    *,
    seed: int | None = None,
    until: str | None = None,
    sets: Sequence[str] = (),
    as_json: bool = False,
    progress: bool = False,
    rules: str | None = None,
) -> int:
    """Run a scenario under every strategy and print the comparison to `out`.

    With a file's rule: under the built-in rule and under that one. The output is a table, or as JSON the
    summary of the scenario as written plus `comparison[]`. Returns the exit code.
    """
    try:
        until_us, overrides = read_all(lambda: _instant(until), lambda: parse_overrides(sets))
        loaded = _loaded(scenario, rules, overrides, seed=seed, until_us=until_us)
        runs = strategy_runs(loaded) if rules is None else rule_runs(loaded)
    except ScenarioError as error:
        err.write(f"{error}\n")
        return EXIT_BAD_INPUT
    results, broken, summary = [], {}, {}
    noun = "strategy" if rules is None else "rule"
    for made in [*runs, None]:
        if made is None and not as_json:
            break
        world = World.from_scenario(loaded if made is None else made.scenario, rows_max=ROWS_MAX)
        _run(world, loaded.until_us, _Bar(err) if progress else None)
        if world.limit_reached:
            err.write(f"{world.limit_reached}\n")
            return EXIT_BAD_INPUT
        if made is None:
            summary = world.summary()
            continue
        results.append(result(made.key, world, noun))
        if _as_written(seed, until, sets, rules):
            broken[made.key] = broken_expectations(made.scenario.expect, world.summary())
    out.write(
        json.dumps({**summary, "comparison": results}, indent=2, ensure_ascii=False) + "\n"
        if as_json
        else readable_comparison(loaded, results, broken, noun)
    )
    return EXIT_VIOLATED if any(entry["violations"] for entry in results) else EXIT_FINE


def print_admin(
    scenario: str,
    tool: str,
    out: TextIO,
    err: TextIO,
    *,
    cluster: str,
    at: str | None = None,
    topic: str | None = None,
    seed: int | None = None,
    sets: Sequence[str] = (),
    notes: bool = False,
    rules: str | None = None,
) -> int:
    """Run a scenario to an instant (default: its end) and print the output of an admin tool then.

    Returns the exit code.
    """
    try:
        loaded = _loaded(scenario, rules, parse_overrides(sets), seed=seed)
        at_us = _instant(at, "--at")
        world = World.from_scenario(loaded, rows_max=ROWS_MAX)
        world.run(loaded.until_us if at_us is None else at_us)
        answer = world.admin(tool, cluster, topic)
    except ScenarioError as error:
        err.write(f"{error}\n")
        return EXIT_BAD_INPUT
    except AdminError as error:
        err.write(f"{error} {error.hint}\n")
        return EXIT_BAD_INPUT
    stopped = world.limit_reached or answer["unavailable"]
    if stopped:
        err.write(f"{stopped}\n")
        return EXIT_BAD_INPUT
    out.write(with_notes(answer) if notes else answer["text"])
    return EXIT_FINE


def list_scenarios(out: TextIO, *, as_json: bool = False) -> int:
    """Print the built-in scenarios to `out`."""
    rows = [load_scenario(name) for name in scenario_names()]
    if as_json:
        shown = [
            {"name": row.name, "title": row.title, "family": row.family, "watch": row.watch} for row in rows
        ]
        out.write(json.dumps(shown, indent=2, ensure_ascii=False) + "\n")
        return EXIT_FINE
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        out.write(
            f"{row.name:<{width}}  {row.title} [{row.family}]\n{'':<{width}}    "
            f"{' '.join(row.watch.split())}\n"
        )
    return EXIT_FINE


def meta_of_trace(world: World) -> dict[str, Any]:
    """The metadata that a file with the rows up to now has."""
    trace = world.trace.prefix(world.seq)
    return full_meta(trace, trace_meta(world))


def trace_meta(world: World) -> dict[str, Any]:
    """Metadata of a trace file about the run that made it: enough to replay it."""
    return {
        "engine_version": ENGINE_VERSION,
        "scenario": world.scenario.canonical_text,
        "seed": world.seed,
        "commands": world.command_log,
        "until_us": world.now_us,
    }


class _Bar:
    """A progress bar on a terminal, redrawn when its percentage changes."""

    def __init__(self, err: TextIO) -> None:
        self._err, self._shown = err, -1

    def show(self, done_us: int, until_us: int) -> None:
        percent = 100 * done_us // until_us
        if percent != self._shown:
            self._shown = percent
            filled = BAR_CHARACTERS * percent // 100
            self._err.write(
                f"\r{'█' * filled}{'░' * (BAR_CHARACTERS - filled)} {percent:3d} %  {done_us / 1e6:,.1f} s "
                "simulated"
            )
            self._err.flush()

    def clear(self) -> None:
        self._err.write("\r\x1b[K")
        self._err.flush()


def _run(world: World, until_us: int, bar: _Bar | None) -> None:
    if bar is None:
        world.run(until_us)
        return
    while world.advance(until_us):
        bar.show(world.now_us, until_us)
    bar.clear()


def _instant(until: str | None, option: str = "--until") -> int | None:
    if until is None:
        return None
    try:
        until_us = parse_duration(until)
        if until_us == 0:
            raise Wrong("0s is too small", "at least 1us")
    except Wrong as wrong:
        raise ScenarioError([Problem(option, None, None, "", wrong.what, str(wrong.right))]) from None
    return until_us


def _check_trace_path(path: str | None) -> None:
    if path is None:
        return
    try:
        suffixes = trace_files().SUFFIXES
    except ImportError as error:
        raise ScenarioError(
            [
                Problem(
                    "--trace",
                    None,
                    None,
                    "",
                    f"pyarrow, which writes trace files, is not installed ({error})",
                    "wait until script/server has installed Spark, or run pip install -r requirements.txt",
                )
            ]
        ) from None
    if not path.endswith(suffixes):
        raise ScenarioError(
            [
                Problem(
                    f"--trace {path}",
                    None,
                    None,
                    "",
                    "unknown kind of file",
                    f"name a file that ends in {' or '.join(suffixes)}",
                )
            ]
        )


def trace_files() -> ModuleType:
    """Imports `simulator.trace.files` on demand.

    It needs pyarrow, which is installed later than the site's own packages.
    """
    from simulator.trace import files

    return files


def _loaded(scenario: str, rules: str | None, overrides: list[Override], **given: Any) -> Scenario:
    """The scenario, under the rule of a file unless it names a rule itself. Raises ScenarioError."""
    found = None if rules is None else load_rules(rules)
    loaded = load_scenario(scenario, overrides=overrides, **given)
    if found is None or RULE in loaded.options:
        return loaded
    if loaded.protocol != OPTIONS[RULE].protocol:
        what, right = (
            f"is a rule of {OPTIONS[RULE].protocol}",
            f"leave it out for {loaded.name}, or run another",
        )
        raise ScenarioError([Problem(f"--rules {rules}", None, None, "", what, right)])
    return load_scenario(scenario, overrides=[*overrides, (f"options.{RULE}", found.name)], **given)


def _as_written(*changes: Any) -> bool:
    """Whether the run is the file's own, so that its expectations apply."""
    return all(change is None or change == () or change == [] for change in changes)
