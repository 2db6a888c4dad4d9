"""Commands about clusters: crash and restart, settings, and faults of the markers that they send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.protocols.pulsar.broker.cluster import HOST, LOST, UP
from simulator.protocols.pulsar.client.consumer import ALIVE, DOWN
from simulator.scenarios.commands import CommandError
from simulator.scenarios.names import parse_link
from simulator.system.commanding import Begin, Handler

if TYPE_CHECKING:
    from simulator.protocols.pulsar.pulsar import Pulsar


def crash(runtime: Pulsar, arguments: dict, begin: Begin, state: str = "down") -> None:
    """cluster.crash: the brokers and, unless `clients` is false, the region's clients fail."""
    cluster = runtime.clusters[arguments["cluster"]]
    if cluster.state == LOST or (state == "down" and cluster.state != UP):
        raise CommandError("not-up", f"{cluster.name} is {cluster.state}", "crash a cluster that is up")
    cause = cluster.crash(begin(), state, arguments.get("fault", HOST))
    cluster.proxy_up = arguments.get("proxy", False)
    if not arguments.get("clients", True):
        return
    for consumer in runtime.consumers.values():
        if (
            consumer.spec.cluster is not None
            and consumer.cluster_name == cluster.name
            and consumer.state in ALIVE
        ):
            consumer.kill(cause, "crash")
    for producer in runtime.producers.values():
        if producer.spec.cluster is not None and producer.cluster_name == cluster.name and producer.alive:
            producer.down_from = producer.state
            producer.set_state(DOWN, cause)


def lose(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """cluster.lose: permanently, with its data."""
    crash(runtime, arguments, begin, LOST)


def restart(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """cluster.restart: topics are loaded from persisted state; the region's clients restart."""
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


def partition(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """link.partition: nothing passes, and the connections over the link hold what is sent."""
    links = [runtime.links[pair] for pair in parse_link(arguments["link"])]
    if not any(link.up for link in links):
        raise CommandError("already-cut", f"{arguments['link']} is cut already", "heal it first")
    cause = begin()
    for link in links:
        if link.up:
            link.up = False
            runtime.link_partitioned(
                link, runtime.rows.link_cut(cause, cluster=link.source, peer=link.target)
            )


def marker_fault(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """marker.delay, marker.drop: a fault for the next marker of the type that the cluster sends."""
    begin()
    runtime.marker_faults.append(
        {
            "cluster": arguments["cluster"],
            "peer": arguments.get("peer"),
            "type": arguments["type"],
            "by_us": arguments.get("by_us"),
        }
    )


def change_setting(runtime: Pulsar, arguments: dict, begin: Begin) -> None:
    """setting.change: static settings take effect when the topic is loaded or the controller starts again."""
    names = [arguments["cluster"]] if "cluster" in arguments else runtime.cluster_names
    cause = begin()
    for name in names:
        cluster = runtime.clusters[name]
        cluster.change_setting(arguments["setting"], arguments["value"])
        runtime.rows.setting_changed(
            cause, cluster=name, reason=arguments["setting"], detail=str(arguments["value"])
        )


HANDLERS: dict[str, Handler] = {
    "cluster.crash": crash,
    "cluster.lose": lose,
    "cluster.restart": restart,
    "link.partition": partition,
    "marker.delay": marker_fault,
    "marker.drop": marker_fault,
    "setting.change": change_setting,
}
