/** Chooses what the page shows in a lab of groups: one group, and nodes instead of clusters with logs. */

import { clustersOf, lanesOf } from "../../../model/state.js";

export function watchedOfGroups(state, { group }) {
  const names = Object.keys(state.view.groups);
  const shown = names.includes(group) ? group : (names[0] ?? null);
  return { group: shown, clusters: clustersOf(state), lanes: lanesOf(state), peers: [], topic: undefined, subscription: undefined, subject: undefined, target: null, curve: { name: shown, peer: "leader", words: () => "if the leader crashed" } };
}
