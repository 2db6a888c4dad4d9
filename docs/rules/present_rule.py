"""The rule of replicated subscriptions as Pulsar has it, hook by hook: copy this file, and change one hook.

Pulsar's `ReplicatedSubscriptionsController` and `ReplicatedSubscriptionSnapshotCache` are the sources.
docs/rules.md says how to run it beside the built-in rule. With this file unchanged a run has the same rows.
"""

from simulator.protocols.pulsar.snapshots.rules import Applied, Rule, kept_by_cache_rule


class PresentRule(Rule):
    def marker_carries(self, writing):
        """Numbers that a marker carries beside what Pulsar writes."""
        return ()

    def snapshot_refused(self, facts):
        """Why a tick of the controller requests no snapshot, None if it requests one."""
        if not facts.last_completed_ms and facts.pending:
            return "pending"
        if facts.data_timestamp_ms == 0 or facts.data_timestamp_ms < facts.last_completed_ms:
            return "no-new-data"
        if not facts.remotes or not facts.all_connected:
            return "replicator-disconnected"
        return None

    def update_due(self, subscription, usable):
        """Whether an Update is written: a cached snapshot has become usable, or one has arrived."""
        return usable is not None

    def update_applies(self, update):
        """What an Update that arrived applies to the subscription here."""
        subscription = update.subscription
        if update.index is None:
            return Applied(refused="not-addressed")
        if update.beyond_last_entry:
            return Applied(refused="beyond-last-entry")
        if update.index == subscription.mark_delete:
            return Applied(refused="equal")
        if update.index < max(subscription.topic.first_kept, subscription.mark_delete):
            return Applied(refused="behind-mark-delete")
        return Applied(up_to=update.index)

    def cache_keeps(self, snapshots, most, cache_rule):
        """Which snapshots a subscription's cache keeps after one was added, in their order."""
        return kept_by_cache_rule(snapshots, most, cache_rule)
