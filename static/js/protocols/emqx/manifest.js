/** EMQX's durable shared subscriptions on the lab page. `../table.js` explains each entry. */

import { linkSection, questionOf } from "../../model/shared_words.js";
import { clustersOf, lanesOf } from "../../model/state.js";
import { INEVITABLE } from "../../pages/inevitable_panel.js";
import { WHAT_IF, WHY_DUPLICATES } from "../../pages/question_panel.js";
import { groupMirror, groupSecondSentence, groupSentence } from "./model/group_sentence.js";
import { LIVE_CONSEQUENCES } from "./model/live_consequences.js";
import { GROUP_ROWS, MARKS, repeatOf } from "./model/row_words.js";
import { makeGroupView } from "./pages/lab_view.js";
import { LAYERS } from "./pages/layers_panel.js";
import { NODE_MESSAGES } from "./pages/node_message_panel.js";
import { ROUNDS } from "./pages/rounds_panel.js";
import { LEGEND } from "./render/legend.js";
import { groupBreakMenu } from "./transport/fault_menus.js";

/** The names offered in forms of commands, by kind of argument. */

/** @type {Object<string, (state: import("../../model/state.js").LabState) => string[] | null>} choices by kind of argument */
export const CHOICES = {
  node: (state) => state.welcome?.names?.nodes ?? lanesOf(state),
  session: (state) => state.welcome?.names?.sessions ?? null,
  publisher: (state) => state.welcome?.names?.publishers ?? null,
  "subscription-filter": (state) => [...new Set(Object.values(state.view?.groups ?? {}).map(({ text }) => text))],
};

/** Chooses what the page shows in a lab of groups: one group, and nodes instead of clusters with logs. */

export function watchedOfGroups(state, { group }) {
  const names = Object.keys(state.view.groups);
  const shown = names.includes(group) ? group : (names[0] ?? null);
  return { group: shown, clusters: clustersOf(state), lanes: lanesOf(state), peers: [], topic: undefined, subscription: undefined, subject: undefined, target: null, curve: { name: shown, peer: "leader", words: () => "if the leader crashed" } };
}

/** @type {import("../table.js").Protocol} */
export const EMQX = {
  name: "emqx",
  page_class: "groups",
  watched: watchedOfGroups,
  choices: (state) => ({ group: Object.keys(state.view.groups) }),
  possible: () => ({ snapshots: false, peers: false }),
  sentence: groupSentence,
  secondSentence: groupSecondSentence,
  ask(state, watched) {
    const question = questionOf({ duplicates: state.view.groups[watched.group]?.figures?.duplicates });
    return { question, shown: Boolean(question) };
  },
  mirror: (state, watched) => [...groupMirror(state, watched), linkSection(state)],
  rows: GROUP_ROWS,
  repeatOf,
  marks: MARKS,
  first_command: "publisher.publish",
  argument_choices: CHOICES,
  live_consequences: LIVE_CONSEQUENCES,
  breakMenu: groupBreakMenu,
  keys: {
    without: ["nextSnapshot", "previousSnapshot", "failOver", "follow", "together", "partitions", "magnifyTime", "reduceTime", "followTime", "toTime"],
    says: { magnify: "expand the next strip of streams", reduce: "back to all strips", toLogs: "to the leader and its clients" },
  },
  legend: LEGEND,
  panels: [NODE_MESSAGES, LAYERS, ROUNDS, WHY_DUPLICATES, WHAT_IF, INEVITABLE],
  makeView: makeGroupView,
};
