"""Updates also carry individually deleted messages, which PIP-33 leaves out.

An Update names a mark-delete only. What a consumer acknowledged above it is delivered again after a
failover: the cause `ack_hole`. Under this rule an Update lists these messages, and the other cluster deletes
them individually.
"""

from simulator.protocols.pulsar.snapshots.rules import Rule


class ListedAcks(Rule):
    def marker_carries(self, writing):
        """An Update carries the messages that are individually deleted, the newest 10,000 at most."""
        return () if writing.subscription is None else writing.subscription.deleted_messages[-10_000:]

    def update_due(self, subscription, usable):
        """An Update is also written when no snapshot is usable: it lists messages and names no position."""
        return usable is not None or bool(subscription.deleted_messages)

    def update_applies(self, update):
        """Beside the mark-delete, the entries of these messages that are not acknowledged here yet."""
        applied = super().update_applies(update)
        return applied._replace(entries=update.subscription.entries_of(update.carried))
