"""Random scenarios with failovers, after which traffic goes on for a while.

What is drawn is a scenario file as a dict, so a failing example prints as a file that can be run.
"""

from __future__ import annotations

from hypothesis import strategies as st

CLUSTERS = ("a", "b", "c")
END_MS = 9_000


def milliseconds(value: int) -> str:
    return f"{value}ms"


@st.composite
def scenarios(draw):
    """Two or three clusters, up to two producers and consumers, one or two failovers, some faults."""
    clusters = list(CLUSTERS[: draw(st.sampled_from([2, 2, 3]))])
    kind = draw(st.sampled_from(["Exclusive", "Shared", "Shared", "Key_Shared", "Failover"]))
    return {
        "format": 1,
        "name": "settling",
        "title": "Settling",
        "family": "replicated-subscriptions",
        "seed": draw(st.integers(0, 1000)),
        "until": milliseconds(END_MS),
        "settings": {
            "replicatedSubscriptionsSnapshotFrequencyMillis": draw(st.sampled_from([200, 1000])),
            "managedLedgerMaxEntriesPerLedger": draw(st.sampled_from([40, 50000])),
            "managedLedgerMinLedgerRolloverTimeMinutes": 0,
            "brokerDeduplicationEnabled": draw(st.booleans()),
        },
        "clusters": {name: {} for name in clusters},
        "links": {"default": {"latency": draw(latencies())}} | draw(own_links(clusters)),
        "topics": {"orders": {"clusters": clusters, "partitions": draw(st.sampled_from([0, 0, 0, 2]))}},
        "producers": {
            f"producer-{number}": draw(producer(clusters)) for number in range(draw(st.integers(1, 2)))
        },
        "subscriptions": {
            "billing": {
                "topic": "orders",
                "type": kind,
                "replicateSubscriptionState": draw(st.sampled_from([True, True, False])),
                "initialPosition": draw(st.sampled_from(["Earliest", "Latest"])),
            }
        },
        "consumers": {
            f"consumer-{number}": draw(consumer(kind))
            for number in range(draw(st.sampled_from([1, 1, 1, 2])) if kind != "Exclusive" else 1)
        },
        "commands": draw(commands(clusters)),
    }


def latencies():
    return st.one_of(
        st.sampled_from([1, 40, 400]).map(milliseconds),
        st.just({"distribution": "lognormal", "median": "40ms", "sigma": 0.5}),
    )


@st.composite
def own_links(draw, clusters):
    """Rarely a link of its own latency."""
    if draw(st.integers(0, 2)):
        return {}
    source, target = draw(st.permutations(clusters))[:2]
    return {f"{source} -> {target}": {"latency": draw(latencies())}}


@st.composite
def producer(draw, clusters):
    chosen = {
        "topic": "orders",
        "cluster": draw(st.sampled_from(["a", *clusters])),
        "every": milliseconds(draw(st.sampled_from([10, 25]))),
        "batch": draw(st.sampled_from([1, 1, 3])),
        "arrivals": draw(st.sampled_from(["regular", "poisson"])),
    }
    if draw(st.booleans()):
        chosen["keys"] = draw(st.integers(1, 5))
    if draw(st.integers(0, 5)) == 0:
        chosen["delay"] = {"share": "10%", "for": "300ms"}
    if draw(st.integers(0, 3)) == 0:
        chosen["stop"] = milliseconds(draw(st.integers(2_000, 5_000)))
    return chosen


@st.composite
def consumer(draw, kind):
    chosen = {
        "subscription": "billing",
        "cluster": "a",
        "processing": milliseconds(draw(st.sampled_from([0, 2, 11, 30]))),
        "receiverQueueSize": draw(st.sampled_from([1, 5, 1000])),
        "acknowledgmentGroupTime": milliseconds(draw(st.sampled_from([0, 100]))),
    }
    if "Shared" not in kind:
        chosen["acknowledge"] = draw(st.sampled_from(["individual", "cumulative"]))
    if draw(st.integers(0, 2)) == 0 and chosen.get("acknowledge") != "cumulative":
        chosen["hold"] = {"share": "5%", "for": milliseconds(draw(st.sampled_from([50, 1_500])))}
    if draw(st.integers(0, 4)) == 0 and chosen.get("acknowledge") != "cumulative":
        chosen["negativeAcknowledge"] = {"share": "5%"}
    return chosen


@st.composite
def commands(draw, clusters):
    """A failover from a, perhaps with a crash or trouble on links, and perhaps a second failover."""
    at_ms = draw(st.integers(1_500, 2_500))
    target = draw(st.sampled_from(clusters[1:]))
    pair = draw(st.permutations(clusters))[:2]
    link = f"{pair[0]} {draw(st.sampled_from(['->', '<->']))} {pair[1]}"
    faults = [
        {"do": "cluster.crash", "cluster": "a", "fault": draw(st.sampled_from(["host", "process"]))},
        {"do": "cluster.lose", "cluster": "a"},
        {"do": draw(st.sampled_from(["link.cut", "link.partition"])), "link": link},
        {"do": "link.slow", "link": link, "latency": milliseconds(draw(st.sampled_from([5, 700])))},
        {"do": "client.kill", "client": draw(st.sampled_from(["consumer-0", "producer-0"]))},
        {"do": "topic.unload", "cluster": target, "topic": "orders"},
    ]
    chosen = [(at_ms, fail_over(draw, "a", target))]
    if draw(st.booleans()):
        chosen.append((at_ms + draw(st.sampled_from([-400, -30, 0, 30, 600])), draw(st.sampled_from(faults))))
        if draw(st.booleans()):
            chosen.append((at_ms + 900, {"do": "link.heal", "link": link}))
    if draw(st.integers(0, 3)) == 0:
        other = draw(st.sampled_from([name for name in clusters if name != target]))
        chosen.append((at_ms + draw(st.sampled_from([100, 1_500])), fail_over(draw, target, other)))
    return [{"at": milliseconds(at)} | command for at, command in sorted(chosen, key=lambda one: one[0])]


def fail_over(draw, source, target):
    return {
        "do": "subscription.fail-over",
        "subscription": "billing",
        "from": source,
        "to": target,
        "mode": draw(st.sampled_from(["crash", "planned", "drained"])),
        "producers": draw(st.booleans()),
    }
