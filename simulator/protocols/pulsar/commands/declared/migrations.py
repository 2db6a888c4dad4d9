"""Commands about migrations of tenants, the LookupService, and blue-green migration (PIP-188)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.protocols.pulsar.commands.declared.arguments import CLUSTER, command
from simulator.scenarios.command import Command, Objection
from simulator.scenarios.key import Key


def _to_another(values: Mapping[str, Any]) -> Objection | None:
    if values.get("to") != values["cluster"]:
        return None
    return Objection("to", "is the cluster that is marked", "name another cluster")


_TENANT = Key("tenant", "tenant", "which tenant", required=True)
_STEPS = ("metadata", "topic-data", "consumption-progress", "switch", "clean-up")
_STRATEGIES = ("acknowledgement-sync", "snapshots", "none", "blue-green")

_MIGRATE = (
    _TENANT,
    Key("to", "cluster", "cluster that the tenant moves to", required=True),
    Key(
        "strategy",
        "choice",
        (
            "how consumption progress is carried over; blue-green copies nothing and drains the old cluster "
            "(PIP-188)"
        ),
        default="acknowledgement-sync",
        choices=_STRATEGIES,
    ),
    Key(
        "through",
        "choice",
        "the last step that begins by itself, as soon as its precondition holds",
        default="consumption-progress",
        choices=_STEPS,
    ),
    Key(
        "startAt",
        "choice",
        (
            "where copying begins: earliest brings the old backlog too, latest is Pulsar's default for a new "
            "replication cursor"
        ),
        default="earliest",
        choices=("earliest", "latest"),
    ),
)

MIGRATIONS: tuple[Command, ...] = (
    command(
        "migration.start",
        "start migrating a tenant to another cluster",
        _MIGRATE,
        refusals=("bad-value", "cluster-down", "same-cluster", "shadow-topics", "third-cluster", "under-way"),
    ),
    command(
        "migration.pause",
        "pause a migration",
        (_TENANT,),
        refusals=("ended", "no-migration", "wrong-state"),
    ),
    command(
        "migration.resume",
        "resume a paused or failed migration",
        (_TENANT,),
        refusals=("ended", "no-migration", "wrong-state"),
    ),
    command(
        "migration.advance",
        "start the next step of a migration",
        (_TENANT,),
        refusals=("ended", "no-migration", "not-ready", "wrong-state"),
    ),
    command(
        "migration.switch",
        "start step 4: switch the tenant's clients to the new cluster",
        (_TENANT, Key("force", "boolean", "also when it is not safe yet", default=False)),
        refusals=("ended", "no-migration", "not-ready", "nothing-there", "wrong-state"),
    ),
    command(
        "migration.clean-up",
        "start step 5: delete the tenant's resources in the old cluster",
        (
            _TENANT,
            Key("force", "boolean", "even if messages or acknowledgements are only there", default=False),
        ),
        refusals=("ended", "has-clients", "no-migration", "not-ready", "wrong-state"),
    ),
    command(
        "migration.roll-back",
        "roll a migration back: clients return to the old cluster, the new one is cleaned up",
        (_TENANT,),
        refusals=("ended", "no-migration", "no-way-back", "wrong-state"),
    ),
    command("lookup.stop", "stop the LookupService: no request is answered", (), refusals=("not-up",)),
    command("lookup.start", "start the LookupService again", (), refusals=("not-down",)),
    command(
        "cluster.migrate",
        "mark a cluster as migrated, or not (PIP-188)",
        (
            CLUSTER,
            Key("migrated", "boolean", "its topics are migrated", default=True),
            Key("to", "cluster", "the green cluster; needed where it is marked migrated"),
        ),
        check=_to_another,
        refusals=("400",),
    ),
    command(
        "namespace.migrate",
        "mark a namespace as migrated in a cluster, or not (PIP-188)",
        (
            CLUSTER,
            Key("namespace", "namespace", "which namespace", required=True),
            Key("migrated", "boolean", "its topics are migrated", default=True),
        ),
        refusals=("400", "404"),
    ),
)
