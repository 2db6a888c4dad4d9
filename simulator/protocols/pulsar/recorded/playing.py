"""The manifest of recorded runs: that of simulated runs, without everything that needs the engine's state.

There are no forecasts, what-if changes, admin tools, strategies and snapshot rules. Verdicts, checks,
stories and terms read only rows, so they are the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simulator.protocols.manifest import AdminTools, Forecasts, Inspection, Manifest, Pictures
from simulator.protocols.pulsar.recorded import inspection, sections
from simulator.protocols.pulsar.recorded.recording import Recording
from simulator.protocols.pulsar.recorded.system import build
from simulator.protocols.pulsar.recorded.view import view
from simulator.protocols.pulsar.views.picture import gallery_picture, picture_at

if TYPE_CHECKING:
    from simulator.system.run_view import RunView

SECTIONS = {
    "audiences": sections.nothing,
    "brokers": sections.nothing,
    "latency": sections.nothing,
    "ack_sync": sections.nothing,
    "replicators": sections.replicators,
    "topics": sections.topics,
    "shadows": sections.nothing,
    "migrations": sections.no_migrations,
    "lookup": sections.nothing,
}
"""The sections that differ from a simulated run's."""


def _commands(run: RunView) -> list[dict[str, Any]]:
    return run.command_results


def with_recordings(manifest: Manifest) -> Manifest:
    """A manifest with the part for recorded runs."""
    return replace(manifest, recorded=_recorded(manifest))


def _recorded(manifest: Manifest) -> Manifest:
    return replace(
        manifest,
        build=build,
        view=view,
        flights=inspection.flights,
        sections={**manifest.sections, **SECTIONS},
        changes=(),
        shared_types=(Recording,),
        commands=_commands,
        forecasts=Forecasts(),
        inspection=Inspection(inspection.cells, inspection.marker),
        pictures=Pictures(gallery_picture, picture_at),
        admin=AdminTools(),
        comparison=None,
    )
