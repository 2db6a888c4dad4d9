"""Acknowledgement-state sync under random holes, batches, ledger borders, crashes, cuts, resets and moves in both directions.

Claims: a synced ack that no operator has revoked is never dispatched; only acked, expired or skipped messages
are filtered; no check is broken; every duplicate has a cause; and the causes are those of a recount with
plain sets.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from simulator import World
from tests.examples import examples
from tests.oracle.sync_causes import PlainSync, sync_causes
from tests.simulator.engine_runs import open_world

UNTIL_MS = 6_000

instants = st.integers(min_value=100, max_value=UNTIL_MS - 100)
links = st.sampled_from(("a -> b", "b -> a", "a <-> b"))
clusters = st.sampled_from("ab")


@st.composite
def commands(draw: Any) -> list[str]:
    """Faults and operator commands, in random order."""
    found = []
    for cluster, at, span in draw(st.lists(st.tuples(clusters, instants, st.integers(50, 1500)), max_size=2)):
        found += [
            f"{{at: {at}ms, do: cluster.crash, cluster: {cluster}}}",
            f"{{at: {at + span}ms, do: cluster.restart, cluster: {cluster}}}",
        ]
    for link, at, span in draw(st.lists(st.tuples(links, instants, st.integers(50, 1500)), max_size=2)):
        found += [
            f"{{at: {at}ms, do: link.cut, link: {link}}}",
            f"{{at: {at + span}ms, do: link.heal, link: {link}}}",
        ]
    for cluster, at in draw(st.lists(st.tuples(clusters, instants), max_size=1)):
        found.append(
            f"{{at: {at}ms, do: subscription.reset, subscription: s, cluster: {cluster}, position: earliest}}"
        )
    for cluster, at in draw(st.lists(st.tuples(clusters, instants), max_size=1)):
        found.append(f"{{at: {at}ms, do: topic.unload, topic: t, cluster: {cluster}}}")
    moves = sorted(draw(st.lists(instants, min_size=1, max_size=3, unique=True)))
    for number, at in enumerate(moves):
        there, mode = ("a, to: b", "b, to: a")[number % 2], draw(st.sampled_from(("crash", "planned")))
        found.append(
            f"{{at: {at}ms, do: subscription.fail-over, subscription: s, from: {there}, mode: {mode}}}"
        )
    return found


@st.composite
def scenarios(draw: Any) -> str:
    """Two clusters, producers in both, one subscription that synchronises.

    Consumers have no receiver queue where the client allows it: a dispatched message is delivered at once.
    """

    def pick(*values):
        return draw(st.sampled_from(values))

    held = draw(st.lists(st.integers(0, 150), max_size=6, unique=True))
    batch, partitions, other_batch = pick(1, 1, 4), pick(0, 0, 2), pick(1, 3)
    queue = 0 if partitions == 0 and batch == other_batch == 1 else 1
    hold = (
        f"hold: {{messages: [{', '.join(f'p/{number}' for number in held)}], for: {pick('300ms', '1h')}}}"
        if held
        else f"hold: {{share: {pick(1, 20)}%, for: 1h}}"
    )
    return (
        f"clusters: {{a: {{}}, b: {{}}}}\nlinks: {{default: {{latency: {pick('5ms', '40ms', '700ms')}}}}}\n"
        f"settings: {{managedLedgerMaxEntriesPerLedger: {pick(3, 20, 50000)}, "
        f"managedLedgerMinLedgerRolloverTimeMinutes: 0, acknowledgmentAtBatchIndexLevelEnabled: "
        f"{pick('true', 'false')},"
        f" defaultRetentionTimeInMinutes: -1, defaultRetentionSizeInMB: -1, "
        f"managedLedgerDefaultMarkDeleteRateLimit: {pick(0, 1)}}}\n"
        f"topics: {{t: {{clusters: [a, b], partitions: {partitions}}}}}\n"
        f"producers:\n  p: {{topic: t, cluster: a, start: 10ms, every: 20ms, count: 160, keys: 5, "
        f"batch: {batch}}}\n"
        f"  q: {{topic: t, cluster: b, start: 15ms, every: {pick(30, 90)}ms, count: 50, keys: 5, "
        f"batch: {other_batch}}}\n"
        f"subscriptions: {{s: {{topic: t, type: Shared, initialPosition: "
        f"{pick('Earliest', 'Earliest', 'Latest')}, acknowledgementSync: periodic, ackSyncPeriod: "
        f"{pick(50, 300, 1000)}ms,"
        f" replicateSubscriptionState: {pick('false', 'false', 'true')}}}}}\n"
        f"consumers:\n  c1: {{subscription: s, cluster: a, receiverQueueSize: {queue}, processing: "
        f"3ms, {hold}}}\n  c2: {{subscription: s, cluster: a, receiverQueueSize: {queue}, processing: "
        f"5ms}}\n"
        "commands:\n" + "".join(f"  - {command}\n" for command in draw(commands()))
    )


class Holder:
    """What each cluster has received of its peers' acks, from the rows alone."""

    def __init__(self) -> None:
        self.sync = PlainSync()
        self.on_the_wire: dict[int, tuple[int, set]] = {}
        # (cluster, topic) -> the cursor's history, (producer, sequence id)
        self.held: dict[tuple[str, str], tuple[int, set]] = {}

    def feed(self, row: dict[str, Any]) -> None:
        self.sync.feed(row)
        if row["type"] == "acknowledgements.sent":
            cursor = self.sync.cursors[row["cluster"], row["topic"], row["subscription"]]
            copies = cursor.covered(self.sync.copies.get((row["cluster"], row["topic"]), ()))
            self.on_the_wire[row["seq"]] = cursor.history, {copy[:2] for copy in copies}
        elif row["type"] == "acknowledgements.applied":
            history, said = self.on_the_wire[row["evidence_seq"]]
            before = self.held.get((row["cluster"], row["topic"]), (history, set()))
            self.held[row["cluster"], row["topic"]] = (
                history,
                said | before[1] if before[0] == history else said,
            )
        elif row["type"] == "subscription.deleted":
            self.held.pop((row["cluster"], row["topic"]), None)


@given(scenarios())
@examples(25)
def test_synced_acks_are_never_delivered_and_only_acked_expired_or_skipped_messages_are_filtered(
    text: str,
) -> None:
    world = open_world(text, until=f"{UNTIL_MS}ms", family="tenant-migration")
    world.run()
    summary = world.summary()
    assert summary["violations"] == [], text
    _no_synced_ack_is_delivered(world, text)
    _only_acked_expired_or_skipped_is_filtered(world, text)
    counted = world.counted().failovers
    plain = sync_causes(world.trace, counted)
    assert [
        {name: found.by_cause[name] for name in theirs} for found, theirs in zip(counted, plain, strict=True)
    ] == plain, text


def _no_synced_ack_is_delivered(world: World, text: str) -> None:
    holder = Holder()
    rows = world.trace.rows()
    # a producer's repeat is another entry with another position, and may not be synced yet
    resent = _stored_repeatedly(rows)
    # client -> the entry it takes messages from, and what was synced when it could be sent
    unacked: dict[str, tuple[tuple[str, int, int], set]] = {}
    # client or entry at a partition -> since when, and what was synced then
    ready: dict[tuple[str, ...], tuple[int, set]] = {}

    def now(row: dict[str, Any]) -> tuple[int, set]:
        return row["seq"], holder.held.get((row["cluster"], row["topic"]), (0, set()))[1]

    for row in rows:
        if row["type"] == "consumer.connected":
            ready[row["client"], row["topic"]] = now(row)
        elif row["type"] == "message.stored":
            ready[row["cluster"], row["topic"], row["ledger"], row["entry"]] = now(row)
        elif row["type"] == "message.delivered":
            entry = (row["topic"], row["ledger"], row["entry"])
            if unacked.get(row["client"], (None,))[0] != entry:
                # With a queue, the next message is sent while the application works on one: as soon as both
                # the entry and the client are there.
                sent = (
                    max(
                        ready[row["client"], row["topic"]],
                        ready[row["cluster"], *entry],
                        key=lambda one: one[0],
                    )
                    if "receiverQueueSize: 1" in text
                    else now(row)
                )
                unacked[row["client"]] = entry, sent[1]
            ready[row["client"], row["topic"]] = now(row)
            message = (row["producer"], row["sequence_id"])
            assert message in resent or message not in unacked[row["client"]][1], (row, text)
        holder.feed(row)


def _stored_repeatedly(rows: list[dict[str, Any]]) -> set[tuple[str, int]]:
    seen, twice = set(), set()
    for row in rows:
        if row["type"] == "message.stored" and row.get("peer") is None:
            message = (row["producer"], row["sequence_id"])
            (twice if message in seen else seen).add(message)
    return twice


def _only_acked_expired_or_skipped_is_filtered(world: World, text: str) -> None:
    done: set[tuple[str, int]] = set()
    began: dict[tuple[str, str], tuple[int, int]] = {}
    copies: dict[tuple[str, str, str, int], tuple[int, int]] = {}
    for row in world.trace.rows():
        if row["type"] in ("message.acknowledged", "message.expired", "message.skipped"):
            done.add((row["producer"], row["sequence_id"]))
        elif row["type"] == "subscription.created":
            began[row["cluster"], row["topic"]] = (row["ledger"], row["entry"])
        elif row["type"] == "message.stored":
            copies.setdefault(
                (row["cluster"], row["topic"], row["producer"], row["sequence_id"]),
                (row["ledger"], row["entry"]),
            )
        elif row["type"] == "message.filtered":
            # What was stored before a subscription began counts as acknowledged there, on either side: the
            # peer receives this, and reports it back after a reset.
            stored = {
                side: copies.get((side, row["topic"], row["producer"], row["sequence_id"]))
                for side in (row["peer"], row["cluster"])
            }
            before_it_began = any(
                at is not None and at <= began[side, row["topic"]] for side, at in stored.items()
            )
            assert (row["producer"], row["sequence_id"]) in done or before_it_began, (row, text)
