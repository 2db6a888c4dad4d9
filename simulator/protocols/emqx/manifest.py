"""The manifest of EMQX's durable shared subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.checks.check import NoKnowledge
from simulator.protocols.emqx.checks import GROUP_CHECKS
from simulator.protocols.emqx.scenario import model
from simulator.protocols.emqx.set_up_form import FORM
from simulator.protocols.emqx.stability import tables
from simulator.protocols.emqx.stories import GROUP_CAUSES, STORIES
from simulator.protocols.emqx.system import build, flights
from simulator.protocols.emqx.terms import TERMS
from simulator.protocols.emqx.verdicts.groups import count_groups
from simulator.protocols.emqx.views.picture import gallery_picture, picture_at
from simulator.protocols.emqx.views.view import LIVE_ROWS, movable, to_targets, view
from simulator.protocols.emqx.what_if.changes import CHANGES, COMPARED
from simulator.protocols.emqx.what_if.measured import MEASURED, SWARM_SETTINGS
from simulator.protocols.manifest import CheckList, Forecasts, Manifest, Pictures

if TYPE_CHECKING:
    from simulator.world import World


def groups(run: World) -> dict[str, Any]:
    """The counted results of each group."""
    return {name: counted.summary() for name, counted in sorted(run.counted().groups.items())}


MANIFEST = Manifest(
    name=model.EMQX,
    build=build,
    count=count_groups,
    view=view,
    flights=flights,
    sections={"groups": groups},
    checks=CheckList(NoKnowledge, GROUP_CHECKS),
    changes=CHANGES,
    compared=COMPARED,
    tables=tables,
    live=LIVE_ROWS,
    forecasts=Forecasts(to_targets=to_targets, movable=movable),
    pictures=Pictures(gallery_picture, picture_at),
    measured=MEASURED,
    swarm_settings=SWARM_SETTINGS,
    stories=STORIES,
    terms=TERMS,
    causes=tuple(GROUP_CAUSES.values()),
    form=FORM,
)
