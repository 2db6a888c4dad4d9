"""The declarations of Pulsar's geo-replication for the rest of Failover Lab."""

from simulator.protocols.manifest import (
    AdminTools,
    CheckList,
    CountCheck,
    Forecasts,
    Inspection,
    Manifest,
    Pictures,
    RunComparison,
)
from simulator.protocols.pulsar import admin, summary_sections
from simulator.protocols.pulsar.checks.failovers import CLAIM as CAUSES_ADD_UP
from simulator.protocols.pulsar.checks.failovers import causes_that_do_not_add_up
from simulator.protocols.pulsar.checks.knowledge import Knowledge
from simulator.protocols.pulsar.checks.row_checks import ROW_CHECKS
from simulator.protocols.pulsar.failover import forecasting
from simulator.protocols.pulsar.recorded.playing import with_recordings
from simulator.protocols.pulsar.scenario import model
from simulator.protocols.pulsar.set_up_form import FORM
from simulator.protocols.pulsar.stories.steps import STORIES
from simulator.protocols.pulsar.stories.words import cause_definitions
from simulator.protocols.pulsar.system import build
from simulator.protocols.pulsar.terms import TERMS
from simulator.protocols.pulsar.verdicts.count import count_run
from simulator.protocols.pulsar.views import creation as creation_view
from simulator.protocols.pulsar.views import inspection, strategies
from simulator.protocols.pulsar.views.picture import (
    LIVE_ROWS,
    gallery_picture,
    movable,
    picture_at,
    to_targets,
)
from simulator.protocols.pulsar.views.view import view
from simulator.protocols.pulsar.what_if.changes import CHANGES
from simulator.protocols.pulsar.what_if.closed_form import COMPARED
from simulator.protocols.pulsar.what_if.measured import MEASURED, SWARM_SETTINGS

SECTIONS = {
    "clusters": summary_sections.clusters,
    "subscriptions": summary_sections.subscriptions,
    "snapshots": summary_sections.snapshots,
    "audiences": summary_sections.audiences,
    "brokers": summary_sections.brokers,
    "latency": summary_sections.latency,
    "ack_sync": summary_sections.ack_sync,
    "replicators": summary_sections.replicators,
    "topics": summary_sections.topics,
    "shadows": summary_sections.shadows,
    "migrations": summary_sections.migrations,
    "lookup": summary_sections.lookup,
}
"""Always present in a summary, empty when unused."""

SIMULATED = Manifest(
    name=model.PULSAR,
    build=build,
    count=count_run,
    view=view,
    flights=inspection.flights,
    sections=SECTIONS,
    checks=CheckList(
        Knowledge,
        ROW_CHECKS,
        (CountCheck(CAUSES_ADD_UP, causes_that_do_not_add_up),),
        lambda scenario: tuple(scenario.audiences),
    ),
    changes=CHANGES,
    compared=COMPARED,
    failovers=summary_sections.failovers,
    commands=summary_sections.commands,
    live=LIVE_ROWS,
    forecasts=Forecasts(forecasting.source_of, to_targets, forecasting.sync_lag, movable),
    inspection=Inspection(
        inspection.cells,
        inspection.marker,
        inspection.by_cluster,
        summary_sections.broker_load,
        creation_view.look,
        creation_view.starts,
    ),
    pictures=Pictures(gallery_picture, picture_at),
    admin=AdminTools(admin.TOOLS, admin.ask),
    comparison=RunComparison(("failovers", "ack_sync"), strategies.costs, strategies.followed),
    measured=MEASURED,
    swarm_settings=SWARM_SETTINGS,
    stories=STORIES,
    terms=TERMS,
    causes=cause_definitions(),
    form=FORM,
)

MANIFEST = with_recordings(SIMULATED)
"""Pulsar's manifest: simulated runs, and runs that were recorded on real brokers."""
