"""What a person may do to the system: one function per command, in a table.

Rules: a function first checks and raises CommandError, then calls `begin()`, then acts (`simulator.system.commanding`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.pulsar import commands_clients, commands_topics
from simulator.pulsar.migration import commands as commands_migration
from simulator.pulsar.cluster import LOST, UP
from simulator.pulsar.consumer import DOWN
from simulator.pulsar.creation import commands_namespaces
from simulator.pulsar.creation import commands_topics as commands_topics_of_one_cluster
from simulator.pulsar.failover import AutomaticFailover, Failover
from simulator.pulsar.shadow import commands as commands_shadow
from simulator.pulsar.shadow import commands_topics as commands_brokers
from simulator.scenarios.commands import CommandError
from simulator.system import links
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.pulsar.runtime import Runtime

# --- clusters


def crash(runtime: Runtime, arguments: dict, begin: Begin, state: str = "down") -> None:
    """cluster.crash: brokers and, unless `clients` is false, the region's clients die."""
    cluster = runtime.clusters[arguments["cluster"]]
    if cluster.state == LOST or (state == "down" and cluster.state != UP):
        raise CommandError("not-up", f"{cluster.name} is {cluster.state}", "crash a cluster that is up")
    cause = cluster.crash(begin(), state)
    if not arguments.get("clients", True):
        return
    for consumer in runtime.consumers.values():
        if consumer.spec.cluster is not None and consumer.cluster_name == cluster.name and consumer.state in commands_clients.ALIVE:
            consumer.kill(cause, "crash")
    for producer in runtime.producers.values():
        if producer.spec.cluster is not None and producer.cluster_name == cluster.name and producer.alive:
            producer.down_from = producer.state
            producer.set_state(DOWN, cause)


def lose(runtime: Runtime, arguments: dict, begin: Begin) -> None:
    """cluster.lose: for good, with its data."""
    crash(runtime, arguments, begin, LOST)


def restart(runtime: Runtime, arguments: dict, begin: Begin) -> None:
    """cluster.restart: topics are loaded from what was persisted; the region's clients come back."""
    cluster = runtime.clusters[arguments["cluster"]]
    if cluster.state != "down":
        hint = "a lost cluster does not come back" if cluster.state == LOST else "crash it first"
        raise CommandError("not-down", f"{cluster.name} is {cluster.state}", hint)
    cause = cluster.restart(begin())
    for consumer in runtime.consumers.values():
        if consumer.cluster_name == cluster.name and consumer.state == DOWN:
            consumer.start()
    for producer in runtime.producers.values():
        if producer.cluster_name == cluster.name and producer.state == DOWN:
            producer.set_state(producer.down_from, cause)


def marker_fault(runtime: Runtime, arguments: dict, begin: Begin) -> None:
    """marker.delay, marker.drop: an order for the next marker of the type that leaves the cluster."""
    begin()
    runtime.marker_faults.append(
        {"cluster": arguments["cluster"], "peer": arguments.get("peer"), "type": arguments["type"], "by_us": arguments.get("by_us")}
    )


def change_setting(runtime: Runtime, arguments: dict, begin: Begin) -> None:
    """setting.change: static settings take effect when the topic is loaded or the controller starts again."""
    names = [arguments["cluster"]] if "cluster" in arguments else runtime.cluster_names
    cause = begin()
    for name in names:
        cluster = runtime.clusters[name]
        cluster.change_setting(arguments["setting"], arguments["value"])
        runtime.note("setting.changed", cause, name, arguments["setting"], str(arguments["value"]))


def fail_over(runtime: Runtime, arguments: dict, begin: Begin) -> None:
    """subscription.fail-over in one of its modes."""
    name, source, target = arguments["subscription"], arguments["from"], arguments["to"]
    moving = [c for c in runtime.consumers.values() if c.spec.subscription == name and c.cluster_name == source]
    if not moving:
        raise CommandError("no-consumers", f"no consumer of {name} is in {source}", f"{name}'s consumers are in "
                           + (", ".join(sorted({c.cluster_name for c in runtime.consumers.values() if c.spec.subscription == name})) or "no cluster"))  # fmt: skip
    if all(consumer.spec.cluster is None for consumer in moving):
        raise CommandError("looks-up", f"the consumers of {name} go where the LookupService says", "migrate their tenant, or give them a cluster of their own")
    topic = runtime.subscriptions[name].topic
    if not any(t.base == topic for t in runtime.clusters[target].topics.values()):
        raise CommandError("no-topic", f"{target} does not have the topic {topic}", "name a cluster of the topic's list")
    if arguments["mode"] in ("planned", "drained") and not runtime.clusters[source].up:
        raise CommandError("source-down", f"{source} is {runtime.clusters[source].state}: its clients cannot finish", "use mode crash")
    cause = begin()
    if arguments["mode"] == "auto":
        AutomaticFailover(runtime, arguments)
    else:
        Failover(runtime, arguments, arguments["mode"]).begin(cause)


HANDLERS: dict[str, Handler] = {
    "cluster.crash": crash,
    "cluster.lose": lose,
    "cluster.restart": restart,
    **links.HANDLERS,
    "marker.delay": marker_fault,
    "marker.drop": marker_fault,
    "setting.change": change_setting,
    "subscription.fail-over": fail_over,
    **commands_clients.HANDLERS,
    **commands_topics.HANDLERS,
    **commands_namespaces.HANDLERS,
    **commands_topics_of_one_cluster.HANDLERS,
    **commands_shadow.HANDLERS,
    **commands_migration.HANDLERS,
    **commands_brokers.HANDLERS,
}
