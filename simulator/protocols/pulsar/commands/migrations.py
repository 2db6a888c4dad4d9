"""Commands about tenants' migrations, the LookupService and PIP-188's flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.migration import readiness
from simulator.protocols.pulsar.migration.migration import Migration
from simulator.protocols.pulsar.migration.readiness import Condition
from simulator.protocols.pulsar.migration.run import BLUE_GREEN, CLEAN_UP, ENDED, STEPS, SWITCH, WAITING
from simulator.scenarios.commands import CommandError
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.pulsar.pulsar import Pulsar


def _migration(runtime: Pulsar, arguments: dict) -> Migration:
    """The tenant's newest migration, which must not have ended."""
    tenant = arguments["tenant"]
    found = [one for one in runtime.migrations if one.run.tenant == tenant]
    if not found:
        raise CommandError(
            "no-migration",
            f"no migration of {tenant} was started",
            f"start one: migration.start, tenant: {tenant}",
        )
    if found[-1].run.state in ENDED:
        raise CommandError(
            "ended",
            f"the migration of {tenant} is {found[-1].run.state.replace('-', ' ')}",
            "start another one",
        )
    return found[-1]


def start(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """migration.start: step 1 begins at once."""
    tenant, target = arguments["tenant"], arguments["to"]
    source = runtime.lookup.tenants[tenant]
    if any(one.run.tenant == tenant and one.run.state not in ENDED for one in runtime.migrations):
        raise CommandError(
            "under-way", f"a migration of {tenant} is under way", "finish it or roll it back first"
        )
    if target == source:
        raise CommandError("same-cluster", f"{tenant} is in {source} already", "name another cluster")
    for name in (source, target):
        if runtime.clusters[name].state == "lost":
            raise CommandError(
                "cluster-down", f"{name} is lost", "it was lost for good; name another cluster"
            )
    topics = [name for name, topic in sorted(runtime.scenario.topics.items()) if topic.tenant == tenant]
    for name in topics:
        third = [cluster for cluster in runtime.clusters_of(name) if cluster not in (source, target)]
        if third:
            raise CommandError(
                "third-cluster",
                (
                    f"{name} is also in {', '.join(third)}: what was published there is not copied on from "
                    f"{source}"
                ),
                (
                    "migrate tenants whose topics live in the old cluster alone, or in the "
                    "two clusters of the move"
                ),
            )
    shadows = [
        name
        for name in topics
        if runtime.scenario.topics[name].shadow_of is not None
        and runtime.clusters[source].shape(name) is not None
    ]
    if shadows:
        raise CommandError(
            "shadow-topics",
            (
                f"{', '.join(shadows)} of {tenant} share the ledgers of their sources in {source}, and "
                "ledgers do not move"
            ),
            "delete the shadow topics first: shadow.delete",
        )
    if arguments["strategy"] == BLUE_GREEN and arguments["startAt"] != "earliest":
        raise CommandError(
            "bad-value", "blue-green copies nothing, so startAt has no effect", "leave startAt out"
        )
    cause = begin()
    migration = Migration(runtime, arguments)
    runtime.migrations.append(migration)
    migration.begin(cause)


def _describe(given: str, wanted: str) -> Handler:
    """A command that is an input of the state machine."""

    def handle(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
        migration = _migration(runtime, arguments)
        if not migration.run.may(given):
            raise CommandError(
                "wrong-state", f"the migration of {migration.run.tenant} is {migration.run.state}", wanted
            )
        migration.take(given, begin())

    return handle


def roll_back(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """migration.roll-back."""
    migration = _migration(runtime, arguments)
    why_not = migration.way_back
    if why_not is not None:
        raise CommandError(
            "no-way-back",
            f"{migration.run.tenant} cannot be rolled back: {why_not}",
            "restart what is down, or finish the migration",
        )
    if not migration.run.may("roll-back"):
        raise CommandError(
            "wrong-state",
            f"the migration of {migration.run.tenant} is {migration.run.state}",
            "it is on its way back already",
        )
    migration.take("roll-back", begin())


def _begin_step(migration: Migration, step: str | None, force: bool, begin: Begin) -> None:
    """Begin the next step if it is `step` and its precondition holds; `force` skips the precondition."""
    run = migration.run
    if run.state != WAITING or (step is not None and run.step.name != step):
        now = f"step {STEPS.index(run.step.name) + 1}, {run.step.name}, is {run.step.state}"
        raise CommandError(
            "wrong-state",
            f"the migration of {run.tenant} is {run.state}: {now}",
            "wait until that is complete, or resume it",
        )
    broken = [condition for condition in migration.conditions() if not condition.holds]
    if broken and not force:
        hint = "wait until it holds" + (", or force it" if step is not None else "")
        raise CommandError(
            "not-ready", f"step {run.step.name} of {run.tenant} is not ready: {_listed(broken)}", hint
        )
    cause = begin()
    migration.take("begin", migration.note_forced(cause) if broken and run.step.name == CLEAN_UP else cause)


def _listed(conditions: list[Condition]) -> str:
    return "; ".join(condition.words for condition in conditions)


def advance(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """migration.advance: the next step, of any kind."""
    _begin_step(_migration(runtime, arguments), None, False, begin)


def switch(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """migration.switch: step 4.

    A forced switch is also possible from an earlier step, which is resumed afterwards.
    """
    migration, run = _migration(runtime, arguments), _migration(runtime, arguments).run
    if not arguments["force"] or (run.state == WAITING and run.step.name == SWITCH):
        if arguments["force"]:
            _refuse_without_target(migration)
        _begin_step(migration, SWITCH, arguments["force"], begin)
        return
    if not run.may("hurry"):
        raise CommandError(
            "wrong-state",
            f"the migration of {run.tenant} is {run.state} in step {run.step.name}",
            "a switch can be forced before step 4, in a migration that is not on its way back",
        )
    _refuse_without_target(migration)
    migration.take("hurry", begin())


def _refuse_without_target(migration: Migration) -> None:
    why_not = readiness.only_forced(migration)
    if why_not is not None:
        raise CommandError(
            "nothing-there",
            f"clients of {migration.run.tenant} would find nothing in {migration.run.target}: {why_not}",
            "finish step metadata, and see that the cluster is up",
        )


def clean_up(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """migration.clean-up: step 5."""
    migration = _migration(runtime, arguments)
    if arguments["force"] and migration.run.step.name == CLEAN_UP:
        clients = migration.clients_in(migration.run.source)
        if clients:
            raise CommandError(
                "has-clients",
                f"{', '.join(clients)} are connected in {migration.run.source}",
                "stop them, or let them move; force does not take a topic from under its clients",
            )
    _begin_step(migration, CLEAN_UP, arguments["force"], begin)


def stop_lookup(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """lookup.stop."""
    if not runtime.lookup.up:
        raise CommandError("not-up", "the LookupService is down", "start it first")
    runtime.lookup.set_up(False, begin())


def start_lookup(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """lookup.start."""
    if runtime.lookup.up:
        raise CommandError("not-down", "the LookupService is up", "stop it first")
    runtime.lookup.set_up(True, begin())


def mark_cluster(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """cluster.migrate: POST /clusters/{cluster}/migrate."""
    blue, migrated, green = arguments["cluster"], arguments["migrated"], arguments.get("to")
    if migrated and green is None:
        raise CommandError("400", "Cluster url must not be empty", "name the green cluster: to")
    runtime.blue_green.mark_cluster(blue, green, migrated, begin(code="204"))


def mark_namespace(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """namespace.migrate: the flag in blue's local policies, with the URL in the cluster's policies."""
    blue, namespace, migrated = arguments["cluster"], arguments["namespace"], arguments["migrated"]
    if (blue, namespace) not in runtime.policies.namespaces:
        known = ", ".join(name for cluster, name in runtime.policies.namespaces if cluster == blue) or "none"
        raise CommandError("404", f"{blue} has no namespace {namespace}", f"it has {known}")
    if migrated and blue not in runtime.blue_green.green:
        raise CommandError(
            "400",
            f"{blue} has no green address in its policies, which its namespaces use",
            "set it first: cluster.migrate with to, migrated: false",
        )
    runtime.blue_green.mark_namespace(blue, namespace, migrated, begin(code="204"))


HANDLERS: dict[str, Handler] = {
    "migration.start": start,
    "migration.pause": _describe("pause", "a migration can be paused while it waits or works"),
    "migration.resume": _describe("resume", "only what is paused or has failed is resumed"),
    "migration.advance": advance,
    "migration.switch": switch,
    "migration.clean-up": clean_up,
    "migration.roll-back": roll_back,
    "lookup.stop": stop_lookup,
    "lookup.start": start_lookup,
    "cluster.migrate": mark_cluster,
    "namespace.migrate": mark_namespace,
}
