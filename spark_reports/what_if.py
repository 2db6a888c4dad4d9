"""“What would have helped” in a report: runs every variant of a run and compares them.

The variants are those of `simulator.what_if`. Rules: outcomes that the lab's page has computed already are
used. Otherwise the variants run in the driver, in slices between which cancellation is checked, and only for
runs up to `ROWS_MOST` rows, since every variant is a whole run. The unchanged run must have the trace's
digest, which makes the others comparable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator import ENGINE_VERSION, Scenario, load_scenario
from simulator.runs import Runs, finished
from simulator.what_if import ROWS_MOST, answer, outcome, variants

SLICE_EVENTS = 20_000


RECORDED_ONLY = "This run was recorded on real brokers, so it is not run again with a change."
"""The note in place of the table."""


def is_recorded(meta: dict[str, Any], scenario: Any) -> bool:
    """Whether a trace is of a run on real brokers: its file says so, or its scenario plays such a file."""
    return bool(meta.get("recorded") or scenario.recording)


def compare(meta: dict[str, Any], go_on: Callable[[], None]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run every variant of a run and compare them.

    Returns ({"same_bytes", "note", …}, the cases of the run as it was). The rest is that of
    `simulator.what_if.answer`. The note says why nothing is compared. `go_on` is called between slices and
    raises to stop. Outcomes in the trace's description (`reruns`), which the lab's page has computed, are
    used in place of further runs.
    """
    scenario = load_scenario(meta["scenario"])
    nothing = {"same_bytes": None, "note": "", **answer(scenario, [], done=False)}
    if is_recorded(meta, scenario):
        return {**nothing, "note": RECORDED_ONLY}, []
    outcomes: list[dict[str, Any]] = meta.get("reruns") or []
    if not outcomes or outcomes[0]["digest"] != meta["trace_sha256"]:
        if meta["rows"] > ROWS_MOST:
            note = (
                f"The run has {meta['rows']:,} rows; runs of more than {ROWS_MOST:,} are not run again for "
                f"this table."
            )
            return {**nothing, "note": note}, []
        outcomes = _outcomes(scenario, meta, go_on)
    if outcomes[0]["digest"] != meta["trace_sha256"]:
        note = (
            f"Engine {ENGINE_VERSION} gives other rows for this run than engine "
            f"{meta['engine_version']} that made the trace, so nothing can be compared."
        )
        return {**nothing, "same_bytes": False, "note": note}, []
    found = answer(scenario, outcomes, done=True)
    return {**nothing, **found, "same_bytes": True}, outcomes[0]["cases"]


def _outcomes(scenario: Scenario, meta: dict[str, Any], go_on: Callable[[], None]) -> list[dict[str, Any]]:
    """Run every variant; only the first where it differs from the trace or has nothing to compare."""
    listed = variants(scenario, meta["commands"], meta["seed"], meta["until_us"])

    def is_comparable(first: dict[str, Any]) -> bool:
        return first["digest"] == meta["trace_sha256"] and bool(first["cases"])

    return finished(Runs(lambda: SLICE_EVENTS).each(listed, outcome, is_comparable), go_on)
