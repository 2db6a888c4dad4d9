"""`python -m script.real_brokers.smoke [VERSION]`: one failover between two real clusters.

It prints duplicates and logs, and so shows that the rig works on this machine. 50 messages are published in
the cluster west. The only consumer of a replicated subscription moves to the cluster east meanwhile.
"""

from __future__ import annotations

import queue
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from script.real_brokers.cluster import Clients, Cluster, Ports
from script.real_brokers.install import installed
from script.real_brokers.process import Event
from script.support.ports import free_port

NAMES = ("west", "east")
TOPIC = "persistent://lab/smoke/orders"
SUBSCRIPTION = "billing"
MESSAGES, EVERY_MS, FAILOVER_AFTER = 50, 100, 25
WAIT_S = 60


def main(words: list[str] | None = None) -> int:
    """Run once and print what happened; the exit code is 1 if the rig's own data contradict each other."""
    arguments = sys.argv[1:] if words is None else words
    version = arguments[0] if arguments else "4.2.4"
    installation = installed(version, _say)
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="real-brokers-") as temporary:
        folder = Path(temporary)
        clusters = [
            Cluster(
                name,
                folder / name,
                Ports(free_port(), free_port(), free_port()),
                installation,
                on_event=events.put,
            )
            for name in NAMES
        ]
        clients = Clients(folder, installation, events.put)
        try:
            _prepare(clusters, clients)
            seen = _fail_over(clusters, clients, events)
            return _report(clusters, seen)
        finally:
            clients.close()
            for cluster in clusters:
                cluster.close()


def _prepare(clusters: list[Cluster], clients: Clients) -> None:
    """Start everything and wait until both replicators are connected."""
    begin = time.monotonic()
    clients.start()
    with ThreadPoolExecutor() as threads:
        list(threads.map(lambda cluster: cluster.start(), clusters))
    _say(f"two clusters are ready after {time.monotonic() - begin:.1f} s")
    west, east = clusters
    west.connect(east)
    east.connect(west)
    for cluster in clusters:
        cluster.request("namespace.create", name="lab/smoke", clusters=list(NAMES))
        cluster.watch([TOPIC])
    for cluster in clusters:
        cluster.request("topic.create", topic=TOPIC, partitions=0)
    for cluster, peer in ((west, east), (east, west)):
        cluster.request("replicators.wait", topic=TOPIC, peers=[peer.name], timeout_ms=WAIT_S * 1000)
        clients.request("client", cluster=cluster.name, url=cluster.service_url)


def _fail_over(
    clusters: list[Cluster], clients: Clients, events: queue.SimpleQueue[Event]
) -> list[dict[str, Any]]:
    """Publish, move the consumer to the other cluster, and return all events."""
    west, east = clusters
    seen: list[Event] = []
    # a subscription exists before the first message, and its replicated state starts the snapshots
    clients.request("consumer", name="west-1", cluster="west", **_subscription())
    _until(events, seen, lambda: any(_is(one, "controller", cluster="west") for one in seen), "controller")
    start_ns = time.monotonic_ns() + 1_500_000_000
    clients.request(
        "producer", name="web", cluster="west", topic=TOPIC, start_ns=start_ns, every_ns=EVERY_MS * 1_000_000,
        count=MESSAGES, size_bytes=100,
    )  # fmt: skip
    _until(events, seen, lambda: len(_delivered(seen)) >= FAILOVER_AFTER, "deliveries in west")
    clients.request("consumer.close", name="west-1")
    clients.request("consumer", name="east-1", cluster="east", **_subscription())
    _until(events, seen, lambda: len(set(_delivered(seen))) == MESSAGES, "all messages")
    # what was delivered last is acknowledged within one ack group
    _until(events, seen, lambda: len(_acked(seen)) >= len(set(_delivered(seen, "east-1"))), "acks in east")
    return seen


def _subscription() -> dict[str, Any]:
    return {
        "topic": TOPIC,
        "subscription": SUBSCRIPTION,
        "type": "shared",
        "replicated": True,
        "initial": "earliest",
    }


def _until(
    events: queue.SimpleQueue[Event], seen: list[Event], reached: Callable[[], bool], what: str
) -> None:
    """Collect events until `reached`."""
    end = time.monotonic() + WAIT_S
    while not reached():
        try:
            seen.append(events.get(timeout=max(end - time.monotonic(), 0.001)))
        except queue.Empty:
            raise SystemExit(f"waited {WAIT_S} s for {what}; {len(_delivered(seen))} deliveries") from None


def _is(event: Event, kind: str, **fields: str) -> bool:
    return event["e"] == kind and all(event.get(name) == value for name, value in fields.items())


def _delivered(seen: list[Event], consumer: str | None = None) -> list[int]:
    """The sequences of all deliveries, in order."""
    return [
        one["sequence"]
        for one in seen
        if one["e"] == "delivered" and (consumer is None or one["consumer"] == consumer)
    ]


def _acked(seen: list[Event]) -> set[tuple[int, int]]:
    """The positions that the broker of east has received acks of."""
    return {(one["ledger"], one["entry"]) for one in seen if _is(one, "ack", cluster="east")}


def _report(clusters: list[Cluster], seen: list[Event]) -> int:
    times = Counter(_delivered(seen))
    again = sorted(sequence for sequence, count in times.items() if count > 1)
    _say(f"{len(_delivered(seen))} deliveries of {len(times)} messages; {len(again)} duplicates: {again}")
    for kind, count in sorted(Counter(one["e"] for one in seen).items()):
        _say(f"  {count} events {kind}")
    complete = len(times) == MESSAGES
    for cluster in clusters:
        entries = cluster.request("dump", topic=TOPIC)["entries"]
        types = Counter(one["marker"]["type"] if one["marker"] else "message" for one in entries)
        _say(f"{cluster.name}: {len(entries)} entries stored: {dict(sorted(types.items()))}")
        complete = complete and types["message"] == MESSAGES and _instants_follow(cluster, entries, seen)
    return 0 if complete else 1


def _instants_follow(cluster: Cluster, entries: list[dict[str, Any]], seen: list[Event]) -> bool:
    """Whether each message was stored after it was published, by the one clock of all processes."""
    published = {one["sequence"]: one["t"] for one in seen if one["e"] == "published"}
    delays_ms = [
        (one["stored_ns"] - published[one["sequence"]]) / 1e6 for one in entries if not one["marker"]
    ]
    low, high = min(delays_ms), max(delays_ms)
    _say(f"{cluster.name}: stored {low:.1f} to {high:.1f} ms after the call of send")
    return low >= 0 and high < WAIT_S * 1000


def _say(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main())
