/** Pulsar's geo-replication on the lab page. `../table.js` explains each entry. */

import { questionOf } from "../../model/questions.js";
import { INEVITABLE } from "../../pages/inevitable_panel.js";
import { WHAT_IF, WHY_DUPLICATES } from "../../pages/question_panel.js";
import { CHOICES, HINTS } from "./model/argument_choices.js";
import { foldFrame, nothingFolded, takeOlder } from "./model/folds.js";
import { LIVE_CONSEQUENCES } from "./model/live_consequences.js";
import { pulsarMirror } from "./model/mirror.js";
import { partitionsOf } from "./model/partitions.js";
import { hasPeers, takesSnapshots } from "./model/possible.js";
import { MARKS, snapshotEnd } from "./model/marks.js";
import { glyphOfRow, isDetail, isProtocolMessage, PULSAR_ROWS, repeatOf } from "./model/row_words.js";
import { groupOfRow, wordsOfGroup } from "./model/row_groups.js";
import { latestFailover, pulsarSentence, secondSentence } from "./model/sentence.js";
import { watchedOfLogs } from "./model/watched.js";
import { ADMIN_PANEL } from "./pages/admin_panel.js";
import { BROKERS } from "./pages/brokers_panel.js";
import { CREATION } from "./pages/creation_panel.js";
import { FORECAST } from "./pages/forecast_panel.js";
import { makePulsarView } from "./pages/lab_view.js";
import { MIGRATION } from "./pages/migration_panel.js";
import { SHADOWS } from "./pages/shadow_panel.js";
import { LEGEND } from "./render/legend.js";
import { breakMenu } from "./transport/fault_menus.js";
import { subscriptionsOf, topicsOf } from "./model/topics.js";

/** @type {import("../table.js").Protocol} */
export const PULSAR = {
  name: "pulsar",
  watched: watchedOfLogs,
  nothingFolded,
  foldFrame,
  takes: { "cells-older": takeOlder },
  choices(state, watched) {
    const topics = topicsOf(state);
    const partitioned = partitionsOf(state, watched.topic).length === topics.length; // partitions have selectors of their own
    return { topic: partitioned ? [] : topics, subscription: subscriptionsOf(state, watched.topic) };
  },
  possible: (state, watched) => ({ snapshots: takesSnapshots(state, watched), peers: hasPeers(state) }),
  sentence: pulsarSentence,
  secondSentence,
  ask(state, watched) {
    const over = latestFailover(state, watched.subscription);
    return { question: questionOf(over), shown: over !== null };
  },
  mirror: pulsarMirror,
  rows: PULSAR_ROWS,
  glyphOfRow,
  isDetail,
  isProtocolMessage,
  repeatOf,
  groupOfRow,
  wordsOfGroup,
  marks: MARKS,
  snapshotEnd,
  entry_rows: ["marker.written", "marker.stored"],
  first_command: "producer.publish",
  argument_choices: CHOICES,
  hints: HINTS,
  live_consequences: LIVE_CONSEQUENCES,
  breakMenu,
  keys: { without: ["foldBy"], says: {} },
  legend: LEGEND,
  panels: [WHY_DUPLICATES, WHAT_IF, INEVITABLE, FORECAST, ADMIN_PANEL, CREATION, SHADOWS, MIGRATION, BROKERS],
  makeView: makePulsarView,
};
