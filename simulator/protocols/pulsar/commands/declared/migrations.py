"""Commands about migrations of tenants, the LookupService, and blue-green migration (PIP-188)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.protocols.pulsar.commands.declared.arguments import CLUSTER, command
from simulator.scenarios.declarations import Command, Key, Objection, When


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
        begin="acknowledgement-sync",
    ),
    Key(
        "through",
        "choice",
        "the last step that begins by itself, as soon as its precondition holds",
        default="consumption-progress",
        choices=_STEPS,
        begin="consumption-progress",
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
        begin="earliest",
    ),
)

MIGRATIONS: tuple[Command, ...] = (
    command(
        "migration.start",
        "start migrating a tenant to another cluster",
        _MIGRATE,
        refusals=("bad-value", "cluster-down", "same-cluster", "shadow-topics", "third-cluster", "under-way"),
        label="start migrating a tenant",
        consequence=(
            (
                "The namespaces and topics of {tenant} are created in {to|the new cluster}, then messages "
                "and ack state are copied there. Its clients stay until the switch."
            ),
            When(
                "strategy",
                {
                    "blue-green": (
                        " Blue-green: nothing is copied. Old messages are read in the old cluster, new "
                        "ones are published in the new cluster, and it cannot be rolled back."
                    ),
                    "none": " Ack state is not synced: every old message is delivered again as a duplicate.",
                },
            ),
        ),
    ),
    command(
        "migration.pause",
        "pause a migration",
        (_TENANT,),
        refusals=("ended", "no-migration", "wrong-state"),
        consequence=(
            "The current step pauses; copying and syncing that has started continues. {tenant} can be "
            "rolled back from here."
        ),
    ),
    command(
        "migration.resume",
        "resume a paused or failed migration",
        (_TENANT,),
        refusals=("ended", "no-migration", "wrong-state"),
        label="resume a migration",
        consequence=(
            "The migration of {tenant} continues with what is missing. After a failure this is another "
            "attempt."
        ),
    ),
    command(
        "migration.advance",
        "start the next step of a migration",
        (_TENANT,),
        refusals=("ended", "no-migration", "not-ready", "wrong-state"),
        label="start a migration's next step",
        consequence="The next step of {tenant} begins if its preconditions hold.",
    ),
    command(
        "migration.switch",
        "start step 4: switch the tenant's clients to the new cluster",
        (_TENANT, Key("force", "boolean", "also when it is not safe yet", default=False)),
        refusals=("ended", "no-migration", "not-ready", "nothing-there", "wrong-state"),
        label="switch a tenant's clients to the new cluster",
        consequence=(
            (
                "The LookupService sends the clients of {tenant} to the new cluster. Topics are unloaded, "
                "so that clients look them up again."
            ),
            When(
                "force",
                {"true": " Forced: it does not wait for messages and ack state that are not copied yet."},
            ),
        ),
    ),
    command(
        "migration.clean-up",
        "start step 5: delete the tenant's resources in the old cluster",
        (
            _TENANT,
            Key("force", "boolean", "even if messages or acknowledgements are only there", default=False),
        ),
        refusals=("ended", "has-clients", "no-migration", "not-ready", "wrong-state"),
        label="delete a tenant's resources in the old cluster",
        consequence=(
            "Everything of {tenant} in the old cluster is deleted. It cannot be rolled back afterwards.",
            When(
                "force",
                {
                    "true": (
                        " Forced: messages that only the old cluster has are lost, even if a subscription "
                        "still needs them."
                    )
                },
            ),
        ),
    ),
    command(
        "migration.roll-back",
        "roll a migration back: clients return to the old cluster, the new one is cleaned up",
        (_TENANT,),
        refusals=("ended", "no-migration", "no-way-back", "wrong-state"),
        label="roll a migration back",
        consequence=(
            "Clients of {tenant} return to the old cluster. What they published and acked in the new one "
            "is copied back before the new one is cleaned up."
        ),
    ),
    command(
        "lookup.stop",
        "stop the LookupService: no request is answered",
        (),
        refusals=("not-up",),
        label="stop the LookupService",
        consequence=(
            "Connected clients stay. New clients, and those that lose their broker, get no answer and "
            "retry with increasing backoff."
        ),
    ),
    command(
        "lookup.start",
        "start the LookupService again",
        (),
        refusals=("not-down",),
        label="start the LookupService",
        consequence="Lookups are answered again, for each client at its next retry.",
    ),
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
        label="mark a cluster migrated (blue-green)",
        consequence=When(
            "migrated",
            {
                "false": (
                    "{cluster} is no longer marked as migrated. Topics that were terminated stay terminated."
                )
            },
            (
                "At their next check the topics of {cluster} accept no more messages, and clients are "
                "redirected to {to|the green cluster} as their subscriptions are drained."
            ),
        ),
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
        label="mark a namespace migrated (blue-green)",
        consequence=When(
            "migrated",
            {
                "false": (
                    "{namespace} is no longer marked as migrated. Topics that were terminated stay "
                    "terminated."
                )
            },
            (
                "At their next check the topics of {namespace} in {cluster} accept no more messages, and "
                "clients are redirected as their subscriptions are drained."
            ),
        ),
    ),
)
