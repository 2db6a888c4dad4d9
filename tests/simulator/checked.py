"""The violations that the checks report for a finished run.

The trace is read in one piece and, where requested, in pieces of a given number of rows by checks that are
copied in between. Both must report the same.
"""

from __future__ import annotations

from simulator import World, load_scenario_text
from simulator.checks.check import Violation
from simulator.checks.checks import Checks


def violations_of(world: World, *pieces_rows: int) -> list[Violation]:
    """Every violation of a run."""
    whole = Checks(world.scenario)
    whole.read(world.trace)
    for rows in pieces_rows:
        pieces = Checks(world.scenario)
        for upto in range(0, len(world.trace), rows):
            pieces.read(world.trace, upto)
            pieces = pieces.copy()
        pieces.read(world.trace)
        assert pieces.violations == whole.violations
    return whole.violations


def claims_broken_in(world: World, *pieces_rows: int) -> set[str]:
    """The claims that a run breaks."""
    return {violation.claim for violation in violations_of(world, *pieces_rows)}


def broken_claims(text: str, *pieces_rows: int) -> set[str]:
    """The claims that a run of this scenario breaks."""
    world = World.from_scenario(load_scenario_text(text))
    world.run()
    return claims_broken_in(world, *pieces_rows)


def broken_claims_in_pieces(text: str) -> set[str]:
    """The same, also read in pieces of a length that matches no period of a run."""
    return broken_claims(text, 83)
