"""The manifest of recorded runs: without everything that needs the engine's state.

There are no forecasts, what-if changes, admin tools and snapshot rules. Verdicts, checks, stories, terms and
the columns of a comparison read only rows, so they are the same, except checks of exact delays: a real
client's backoff has jitter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from simulator.protocols.manifest import (
    AdminTools,
    Forecasts,
    Inspection,
    Manifest,
    NotOffered,
    Pictures,
)
from simulator.protocols.pulsar.checks.copies import StartRetries
from simulator.protocols.pulsar.checks.failovers import ConsumerReconnects
from simulator.protocols.pulsar.recorded import inspection
from simulator.protocols.pulsar.recorded.system import build
from simulator.protocols.pulsar.recorded.view import view
from simulator.protocols.pulsar.views.picture import gallery_picture, picture_at
from simulator.system.admin_tools import AdminError

if TYPE_CHECKING:
    from simulator.world import World

EXACT_DELAYS = (ConsumerReconnects, StartRetries)
"""Checks of exact delays between retries."""

SECTIONS = {
    "audiences": inspection.nothing,
    "brokers": inspection.nothing,
    "latency": inspection.nothing,
    "ack_sync": inspection.nothing,
    "replicators": inspection.replicators,
    "topics": inspection.topics,
    "shadows": inspection.nothing,
    "migrations": inspection.no_migrations,
    "lookup": inspection.nothing,
}
"""The sections that differ from a simulated run's."""


def _commands(run: World) -> list[dict[str, Any]]:
    return run.command_results


def _not_offered(*_question: Any) -> NoReturn:
    raise NotOffered("This run was recorded on real brokers: its rows do not show that.")


def _no_admin(*_question: Any) -> NoReturn:
    raise AdminError(
        "This run was recorded on real brokers: the output of admin tools was not recorded.",
        "Open the scenario itself and ask the simulator.",
    )


def with_recordings(manifest: Manifest) -> Manifest:
    """A manifest with the part for recorded runs."""
    return replace(manifest, recorded=_recorded(manifest))


def _recorded(manifest: Manifest) -> Manifest:
    judged = tuple(one for one in manifest.checks.of_rows if one not in EXACT_DELAYS)
    return replace(
        manifest,
        checks=replace(manifest.checks, of_rows=judged),
        build=build,
        view=view,
        flights=inspection.flights,
        sections={**manifest.sections, **SECTIONS},
        changes=(),
        commands=_commands,
        forecasts=Forecasts(),
        inspection=Inspection(
            inspection.cells,
            inspection.marker,
            broker_load=_not_offered,
            creation=_not_offered,
            replicator_starts=_not_offered,
        ),
        pictures=Pictures(gallery_picture, picture_at),
        admin=AdminTools(manifest.admin.tools, _no_admin),
    )
