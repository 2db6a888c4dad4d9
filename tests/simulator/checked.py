"""What the checks say of a run that is over: read in one piece and, where asked for, in pieces of so many
rows by checks that are copied between, which must say the same.
"""

from __future__ import annotations

from simulator import World, load_scenario_text
from simulator.checks.checks import Checks
from simulator.checks.violation import Violation


def violations_of(world: World, *pieces_rows: int) -> list[Violation]:
    """Everything that a run breaks."""
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
    """The same, read in pieces too, of a length that no rhythm of a run has."""
    return broken_claims(text, 83)
