"""Traces written by hand, for tests of what reads them: a row per call, missing fields null."""

from simulator.protocols.pulsar.scenario.model import (
    ClusterSpec,
    ProducerSpec,
    PulsarScenario,
    SubscriptionSpec,
    TopicSpec,
)
from simulator.protocols.registry import BY_NAME, VOCABULARY
from simulator.scenarios.model import Scenario
from simulator.trace.registry import NAME_COLUMNS, NULL
from simulator.trace.trace import Trace


def scenario(clusters=("a", "b"), **changes) -> Scenario:
    """Topic `orders` in every cluster, producer `web` in the first, subscription `billing`."""
    parts = {
        "clusters": {name: ClusterSpec(name) for name in clusters},
        "topics": {"orders": TopicSpec("orders", tuple(clusters))},
        "producers": {"web": ProducerSpec("web", "orders", clusters[0])},
        "subscriptions": {
            "billing": SubscriptionSpec("billing", "orders", replicate_subscription_state=True)
        },
    }
    return PulsarScenario("by-hand", "By hand", "replicated-subscriptions", 60_000_000, **(parts | changes))


class WrittenTrace:
    """`write("message.stored", cluster="a", …)`; topic `orders` unless stated otherwise, one microsecond a
    row.
    """

    def __init__(self):
        self.trace = Trace(VOCABULARY)

    def write(self, event, cause_seq=NULL, **fields) -> int:
        """Append a row and return its seq."""
        declared = BY_NAME[event]
        if "topic" in declared.fields:
            fields.setdefault("topic", "orders")
        unknown = set(fields) - set(declared.fields)
        assert not unknown, f"{event} has no {sorted(unknown)}"
        values = [fields.get(name, NULL) for name in declared.fields]
        values = [
            self.trace.intern(value) if name in NAME_COLUMNS and value != NULL else value
            for name, value in zip(declared.fields, values, strict=True)
        ]
        self.trace.append((declared.code, len(self.trace), cause_seq, *values))
        return len(self.trace) - 1

    # --- what most traces need

    def replicators(self, *clusters):
        """Every pair replicates, from before the first message."""
        for source in clusters:
            for target in clusters:
                if source != target:
                    self.write("replicator.created", cluster=source, peer=target, ledger=1, entry=-1)

    def stored(self, cluster, number, entry, peer=NULL, producer="web", ledger=1, batch_index=NULL):
        """Message `producer`/`number` is at ledger:entry of the cluster's log."""
        return self.write(
            "message.stored",
            cluster=cluster,
            peer=peer,
            producer=producer,
            sequence_id=number,
            ledger=ledger,
            entry=entry,
            batch_index=batch_index,
            size_bytes=100,
        )

    def marker(self, cluster, entry, peer=NULL, ledger=1):
        """A marker is at ledger:entry; `peer` is where it was replicated from."""
        event = "marker.written" if peer == NULL else "marker.stored"
        return self.write(
            event, cluster=cluster, peer=peer, marker=1, reason="snapshot_request", ledger=ledger, entry=entry
        )

    def about(self, event, cluster, number, entry=0, producer="web", ledger=1, **more):
        """A row of subscription `billing` about a message."""
        return self.write(
            event,
            cluster=cluster,
            subscription="billing",
            producer=producer,
            sequence_id=number,
            ledger=ledger,
            entry=entry,
            **more,
        )

    def created(self, cluster, ledger, entry, reason="consumer"):
        """Subscription `billing` opens with this mark-delete."""
        return self.write(
            "subscription.created",
            cluster=cluster,
            subscription="billing",
            ledger=ledger,
            entry=entry,
            reason=reason,
            count=1,
        )

    def moved(self, cluster, before, after, reason="acknowledgement"):
        """The mark-delete of `billing` moved, entries of ledger 1."""
        return self.write(
            "cursor.moved",
            cluster=cluster,
            subscription="billing",
            ledger=1,
            entry=before,
            to_ledger=1,
            to_entry=after,
            reason=reason,
        )

    def update(self, cluster, peer, entry, snapshot=1):
        """The cluster writes an Update of `billing` with 1:entry for peer.

        Returns the seq of its position row.
        """
        self.write(
            "update.written",
            cluster=cluster,
            subscription="billing",
            snapshot=snapshot,
            marker=1,
            ledger=1,
            entry=90,
        )
        return self.write(
            "update.position",
            cluster=cluster,
            peer=peer,
            subscription="billing",
            snapshot=snapshot,
            marker=1,
            to_ledger=1,
            to_entry=entry,
        )
