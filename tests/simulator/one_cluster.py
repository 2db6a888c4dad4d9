"""Scenarios of one cluster, one topic and one subscription, for tests of dispatch."""

from tests.simulator.engine_runs import MS, do, open_world, rows

ONE = "clusters: {a: {}}\ntopics: {t: {clusters: [a]}}\n"


def body(
    type_="Shared",
    producer="start: 10ms, every: 10ms, count: 10",
    consumers=("c1: {processing: 1ms}",),
    settings="",
    subscription="initialPosition: Earliest",
):
    """One cluster, one topic, one subscription; `consumers` are written without subscription and cluster."""
    lines = [entry.replace("{", "{subscription: s, cluster: a, ", 1) for entry in consumers]
    return (
        f"{ONE}settings: {{{settings}}}\nproducers: {{p: {{topic: t, cluster: a, {producer}}}}}\n"
        f"subscriptions: {{s: {{topic: t, type: {type_}, {subscription}}}}}\nconsumers:\n"
        + "".join(f"  {line}\n" for line in lines)
    )


def delivered(world, client=None):
    """Rows of deliveries, of one client or all."""
    return rows(world, "message.delivered", **({} if client is None else {"client": client}))


def burst(count, **more):
    """A world in which `count` messages were published at 10 ms, before 20 ms."""
    world = open_world(body(producer="paused: true", **more))
    world.run(10 * MS)
    do(world, "producer.publish", producer="p", count=count)
    return world
