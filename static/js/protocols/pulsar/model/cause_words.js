/** Causes of a duplicate in a few words: names as the counting registers them. */

/** @type {Object<string, string>} */
export const CAUSES = {
  resent_copy: "sent twice by a producer",
  subscription_missing: "no subscription there yet",
  not_replicated: "subscription not replicated",
  cursor_went_back: "cursor went back",
  ack_not_registered: "acks that had not reached a broker",
  not_in_target_yet: "not there yet when they moved",
  sync_in_flight: "message about the acks on its way",
  after_last_sync: "acknowledged after the last sync",
  ack_hole: "behind an unacknowledged message",
  update_in_flight: "update on its way",
  snapshot_evicted: "snapshot thrown out of the cache",
  snapshot_unused: "snapshot not used",
  snapshot_incomplete: "snapshot never finished",
  after_newest_snapshot: "after the newest snapshot",
};
