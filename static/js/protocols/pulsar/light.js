/** Pulsar on pages without a lab: draws the picture of the lanes, and names the causes of duplicates. */

import { paintLanesPicture } from "./render/picture.js";

/** Short texts for the causes of duplicates, by the names that the engine registers. */

/** @type {Object<string, string>} */
export const CAUSES = {
  resent_copy: "resent by its producer",
  subscription_missing: "subscription missing in the target",
  not_replicated: "subscription not replicated",
  cursor_went_back: "cursor moved back",
  ack_not_registered: "ack not registered by the broker",
  not_in_target_yet: "not in the target yet at the failover",
  sync_in_flight: "ack sync in flight",
  after_last_sync: "acked after the last sync",
  ack_hole: "behind an unacked message",
  update_in_flight: "update in flight",
  snapshot_evicted: "snapshot evicted from the cache",
  snapshot_unused: "snapshot not used",
  snapshot_incomplete: "snapshot not completed",
  after_newest_snapshot: "acked after the newest snapshot",
};

/** @type {import("../light_table.js").LightProtocol} */
export const PULSAR_LIGHT = {
  draws: ({ group }) => !group,
  paintPicture: paintLanesPicture,
  causes: CAUSES,
};
