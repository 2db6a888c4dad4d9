/** EMQX's durable shared subscriptions on the lab page. `../table.js` explains each entry. */

import { questionOf } from "../../model/questions.js";
import { linkSection } from "../../model/link_words.js";
import { INEVITABLE } from "../../pages/inevitable_panel.js";
import { WHAT_IF, WHY_DUPLICATES } from "../../pages/question_panel.js";
import { CHOICES } from "./model/argument_choices.js";
import { groupMirror } from "./model/group_mirror.js";
import { groupSecondSentence, groupSentence } from "./model/group_sentence.js";
import { LIVE_CONSEQUENCES } from "./model/live_consequences.js";
import { MARKS } from "./model/marks.js";
import { GROUP_ROWS, repeatOf } from "./model/row_words.js";
import { watchedOfGroups } from "./model/watched.js";
import { NODE_MESSAGES } from "./pages/node_message_panel.js";
import { LAYERS } from "./pages/layers_panel.js";
import { makeGroupView } from "./pages/lab_view.js";
import { ROUNDS } from "./pages/rounds_panel.js";
import { LEGEND } from "./render/legend.js";
import { groupBreakMenu } from "./transport/fault_menus.js";

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
