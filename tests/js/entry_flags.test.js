/** The state of entries, causes of duplicates, what is watched, and the headline. */

import assert from "node:assert/strict";
import test from "node:test";
import { breakMenu, clusterMenu, flightMenu } from "../../static/js/protocols/pulsar/transport/fault_menus.js";
import { reduce, whatIsWatched } from "../../static/js/model/reduce.js";
import { emptyLab } from "../../static/js/model/state.js";
import { DUPLICATE, ACKED, UNACKED, ACKED_HERE, LOST, makeEntryFlags, OWN_MARKER, NOT_REPLICATED, FORECAST_DUPLICATE, stretchesOf, UNKNOWN } from "../../static/js/protocols/pulsar/model/entry_flags.js";
import { mirrorOf, plainSentence, sentenceOf } from "../../static/js/render/sentence.js";
import { wordsOfThing } from "../../static/js/protocols/pulsar/render/looks.js";
import { followingWindow, makeScene, threadsOf } from "../../static/js/protocols/pulsar/layout/scene.js";
import { labelRequests } from "../../static/js/protocols/pulsar/render/label_requests.js";
import { cells, consumer, cursor, frame, topic, view, welcome } from "./fixtures/lab.js";

const CAUSES = [[2, 3, "snapshot"], [5, 7, "hole"]];

const forecast = (duplicates, ranges = [[2, 3], [5, 5], [7, 7]], more = { causes: CAUSES }) => ({
  billing: {
    from: "a",
    to: { b: { duplicates, redeliveries: 0, lost: 0, stranded: 1, stranded_unprocessed: 1 } },
    entries: { b: { orders: { ranges, messages: ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0), ...more } } },
  },
});

/** In a, 0-3, 5 and 7 are acked and 4 is delivered, not acked; b's mark-delete is at 1. Both logs: messages 0-7. */
function lab({ a = cursor({ mark: 3, ranges: [[5, 5], [7, 7]], read: 8, consumers: { "billing-1": consumer([4]) } }), b = cursor({ mark: 1 }), log = "aaaaaaaa", more = {}, rows = [] } = {}) {
  const shown = view({ a: topic(log.length, { billing: a }), b: topic(log.length, { billing: b }) }, { forecast: forecast(4), ...more });
  const first = frame(1, { view: shown, cells: { "a/orders": cells(log), "b/orders": cells(log) }, rows });
  return [welcome(), first].reduce(reduce, emptyLab());
}

const bitsOf = (state, cluster, count = 8) => makeEntryFlags(state, whatIsWatched(state, {}))(cluster, 0, count);
const having = (bits, bit) => [...bits.keys()].filter((index) => bits[index] & bit);

test("in the region with the consumers, entries are acked, delivered and not acked, or holes", () => {
  const bits = bitsOf(lab(), "a");
  assert.deepEqual(having(bits, ACKED_HERE), [0, 1, 2, 3, 5, 7]);
  assert.deepEqual(having(bits, UNACKED), [4]);
  assert.deepEqual(having(bits, FORECAST_DUPLICATE), []);
});

test("in the other region, exactly the entries that the engine names would be duplicates", () => {
  assert.deepEqual(having(bitsOf(lab({ more: { forecast: forecast(2, [[3, 4]]) } }), "b"), FORECAST_DUPLICATE), [3, 4]);
  const bits = bitsOf(lab(), "b");
  assert.deepEqual(having(bits, FORECAST_DUPLICATE), [2, 3, 5, 7]);
  assert.deepEqual(having(bits, ACKED), [0, 1, 2, 3, 5, 7]);
});

test("messages that ack sync reported as acked are filtered and are no duplicates", () => {
  const bits = bitsOf(lab({ more: { forecast: forecast(1, [[5, 5]], { causes: [[5, 5, "unsynced"]], acked: [[2, 3], [7, 7]] }) } }), "b");
  assert.deepEqual(having(bits, FORECAST_DUPLICATE), [5]);
  assert.deepEqual(having(bits, ACKED), [0, 1, 2, 3, 5, 7]);
});

test("causes are the engine's, counted over the entries of the window", () => {
  const state = lab();
  const watched = whatIsWatched(state, {});
  const stretches = stretchesOf(state, watched, "b", 0, bitsOf(state, "b"));
  assert.deepEqual(stretches, [
    { first: 2, last: 3, messages: 2, cause: "snapshot" },
    { first: 5, last: 7, messages: 2, cause: "hole" },
  ]);
  assert.equal(stretches.reduce((sum, one) => sum + one.messages, 0), state.view.forecast.billing.to.b.duplicates);
  const window = makeEntryFlags(state, watched)("b", 3, 7);
  assert.deepEqual(stretchesOf(state, watched, "b", 3, window), [
    { first: 3, last: 3, messages: 1, cause: "snapshot" },
    { first: 5, last: 5, messages: 1, cause: "hole" },
  ]);
});

test("a thread whose update b has not applied is used, not applied", () => {
  const rows = [
    { seq: 1, at_us: 1, type: "snapshot.completed", cluster: "a", topic: "orders", snapshot: 1, ledger: 3, entry: 2, duration_us: 1 },
    { seq: 2, at_us: 1, type: "snapshot.position", cluster: "a", topic: "orders", snapshot: 1, peer: "b", to_ledger: 3, to_entry: 2 },
    { seq: 3, at_us: 2, type: "snapshot.used", cluster: "a", topic: "orders", subscription: "billing", snapshot: 1, ledger: 3, entry: 2 },
  ];
  const state = lab({ rows });
  const [thread] = threadsOf(state, whatIsWatched(state, {}));
  assert.deepEqual([thread.state, thread.index], ["used", { a: 2, b: 2 }], "b has not moved as far: not applied yet");
});

test("with the subscription missing in the other region, the engine's forecast says what would be duplicates", () => {
  const missing = lab({ more: { forecast: forecast(6, [[0, 3], [5, 5], [7, 7]]) } });
  delete missing.view.clusters.b.topics.orders.subscriptions.billing;
  assert.deepEqual(having(bitsOf(missing, "b"), FORECAST_DUPLICATE), [0, 1, 2, 3, 5, 7]);
  missing.view.forecast = forecast(0, []);
  assert.deepEqual(having(bitsOf(missing, "b"), FORECAST_DUPLICATE), [], "at Latest there are no duplicates");
});

test("messages that a cursor passed without an ack are neither acked nor duplicates when the engine forecasts none", () => {
  const bits = bitsOf(lab({ more: { forecast: forecast(0, []) } }), "b");
  assert.deepEqual(having(bits, FORECAST_DUPLICATE), []);
  assert.deepEqual(having(bits, ACKED), [0, 1], "the rest is delivered once");
});

test("a run without a forecast has no duplicates, and entries before those that a frame names are unknown", () => {
  const silent = bitsOf(lab({ more: { forecast: {} } }), "b");
  assert.deepEqual([having(silent, FORECAST_DUPLICATE), having(silent, ACKED)], [[], [0, 1]]);
  const bits = bitsOf(lab({ more: { forecast: forecast(202, [[5, 5], [7, 7]], { causes: [[5, 7, "hole"]], from: 5 }) } }), "b");
  assert.deepEqual([having(bits, UNKNOWN), having(bits, FORECAST_DUPLICATE), having(bits, ACKED)], [[2, 3, 4], [5, 7], [0, 1, 5, 7]]);
});

test("a marker belongs to the subject when the subject requested its snapshot, also responses of others", () => {
  const state = lab({ log: "aQRSU" });
  assert.deepEqual(having(bitsOf(state, "a", 5), OWN_MARKER), [1, 2, 3, 4]);
});

test("after a failover, actual and expected duplicates and messages not replicated are marked", () => {
  const after = view(
    { a: topic(9, { billing: cursor({ mark: 3, ranges: [[5, 5], [7, 7]] }) }), b: topic(8, { billing: cursor({ mark: 2, read: 5, consumers: { "billing-1": consumer([3]) } }) }) },
    { forecast: { billing: { from: "b", to: {}, entries: { a: { orders: { ranges: [], messages: 0, causes: [], missing: [[8, 8]] } }, b: { orders: { ranges: [[5, 5], [7, 7]], messages: 2, causes: [], acked: [[3, 3]] } } } } }, failovers: [{ subscription: "billing", from: "a", to: "b", mode: "crash", at_us: 60_000, duplicates: 2, stranded: 1, lost: 0, entries: { orders: { mark_delete_index: 1, ranges: [], duplicates: [[2, 3]] } } }] },
  );
  after.clusters.a.state = "down";
  const state = reduce(lab(), frame(2, { view: after, cells: { "a/orders": cells("b", { first: 8 }) } }));
  const bits = bitsOf(state, "b");
  assert.deepEqual(having(bits, DUPLICATE), [2, 3], "2 was acknowledged again, 3 is delivered again and unacked");
  assert.deepEqual(having(bits, FORECAST_DUPLICATE), [5, 7]);
  assert.deepEqual(having(bitsOf(state, "a", 9), NOT_REPLICATED), [8]);
  const headline = (a_state, figures, more = {}) => {
    const one = { ...state.view.failovers[0], ...figures };
    const seen = { ...state, ...more, view: { ...state.view, clusters: { ...state.view.clusters, a: { ...state.view.clusters.a, state: a_state } }, failovers: [one] } };
    return sentenceOf(seen, whatIsWatched(seen, {}));
  };
  assert.equal(plainSentence(headline("down", { stranded_missing: 1, lost: 2 })), "a failed. b has delivered 2 duplicates. 1 message not replicated (unread), 2 lost.");
  assert.equal(plainSentence(headline("down", { stranded: 1, stranded_missing: 0 })), "a failed. b has delivered 2 duplicates.", "zeros are left out");
  const open = { pending_repeats: 3, at_us: 60_000 };
  assert.equal(plainSentence(headline("down", open)), "a failed. b has delivered 2 duplicates so far.", "more may follow");
  assert.equal(plainSentence(headline("down", { ...open, pending_repeats: null })), "a failed. b has delivered 2 duplicates.", "the next failover has begun");
  const at_end = (figures) => headline("down", { ...open, ...figures }, { at_us: 80_000, welcome: { ...state.welcome, until_us: 80_000 } });
  assert.equal(plainSentence(at_end({})), "a failed. b has delivered at least 2 duplicates, still delivering at the end.");
  assert.equal(plainSentence(at_end({ duplicates: 0 })), "a failed. b has delivered no duplicates, still delivering at the end.");
  assert.equal(plainSentence(at_end({ pending_repeats: 0 })), "a failed. b has delivered 2 duplicates.");
  const planned = headline("up", { stranded: 45, stranded_missing: 45 });
  assert.equal(plainSentence(planned), "billing moved from a. b has delivered 2 duplicates. 45 unread messages on the way.");
  assert.deepEqual(planned.filter((part) => part.harm).map((part) => part.harm), ["2 duplicates"], "what is on the way is no harm");
});

test("duplicates counted by the engine are marked, however the page got to the instant", () => {
  const failovers = [{ subscription: "billing", from: "a", to: "b", mode: "crash", at_us: 60_000, duplicates: 3, entries: { orders: { mark_delete_index: 1, ranges: [], duplicates: [[2, 3], [5, 5]] } } }];
  const shown = view({ a: topic(8, { billing: cursor({ mark: 3, ranges: [[5, 5], [7, 7]] }) }), b: topic(8, { billing: cursor({ mark: 2, consumers: { "billing-1": consumer([3]) } }) }) }, { failovers, forecast: { billing: { from: "b", to: {}, entries: { b: { orders: { ranges: [[7, 7]], messages: 1, causes: [] } } } } } });
  shown.clusters.a.state = "down";
  const log = cells("aaaaaaaa");
  const state = [welcome(), frame(1, { view: shown, cells: { "a/orders": log, "b/orders": log } })].reduce(reduce, emptyLab());
  assert.deepEqual(having(bitsOf(state, "b"), DUPLICATE), [2, 3, 5]);
  assert.deepEqual(having(bitsOf(state, "b"), FORECAST_DUPLICATE), [7], "7 was acknowledged in a and is not delivered in b yet");
});

test("a viewer's choice applies while it exists, and the subject is the cluster with the consumers", () => {
  const state = lab();
  const { curve, ...chosen } = whatIsWatched(state, { topic: "nothing", target: "nowhere" });
  assert.deepEqual([curve.name, curve.peer], ["billing", "b"]);
  assert.deepEqual(chosen, { topic: "orders", subscription: "billing", subject: "a", target: "b", clusters: ["a", "b"], lanes: ["a", "b"], peers: ["b"] });
  assert.equal(whatIsWatched(emptyLab(), {}), null);
  const ordered = whatIsWatched({ ...state, welcome: { ...state.welcome, lanes: ["b", "a"] } }, {});
  assert.deepEqual([ordered.lanes, ordered.clusters], [["b", "a"], ["a", "b"]], "shown in the scenario file's order, numbered in that of names");
});

test("a region that is down is no target, and without any target the headline explains why", () => {
  const state = lab({ more: { forecast: { billing: { from: "a", to: {} } } } });
  state.view.clusters.b.state = "down";
  const watched = whatIsWatched(state, { target: "b" });
  assert.deepEqual([watched.target, watched.peers], [null, []]);
  assert.equal(plainSentence(sentenceOf(state, watched)), "billing is consumed in a. No region can take over: b is down.");
  const migrated = { ...state, view: { ...state.view, clusters: { ...state.view.clusters, b: { ...state.view.clusters.b, state: "up" } } } };
  assert.equal(plainSentence(sentenceOf(migrated, watched)), "billing is consumed in a. No region can take over: the topic was migrated away from b.");
  const items = [...clusterMenu(state, watched, "a"), ...breakMenu(state, watched)].flatMap((group) => group.items);
  assert.ok(!items.some((item) => item.act === "failOver"));
});

test("the headline contains the engine's figures and marks harm only when they are not 0", () => {
  const state = lab();
  const watched = whatIsWatched(state, {});
  assert.equal(plainSentence(sentenceOf(state, watched)), "If a failed now, b would deliver 4 duplicates. 1 message not replicated (unread).");
  state.view.forecast.billing.to.b.duplicates = 0;
  const parts = sentenceOf(state, watched);
  assert.ok(!parts.some((part) => part.harm));
  assert.match(plainSentence(parts), /no duplicates/);
});

test("the text view describes what the picture shows", () => {
  const state = lab();
  const lines = mirrorOf(state, whatIsWatched(state, {})).flatMap((section) => [section.title, ...section.lines]);
  for (const expected of [/b would deliver 4 duplicates/, /Not acknowledged, so the mark-delete stays before it: 3:4\./, /Consumer billing-1 is running: 1 message delivered, not acked/, /a to b: up, 40 ms/]) {
    assert.ok(lines.some((line) => expected.test(line)), `${expected} in\n${lines.join("\n")}`);
  }
  const down = { ...state, view: { ...state.view, clusters: { ...state.view.clusters, b: { ...state.view.clusters.b, state: "down" } } } };
  const links = mirrorOf(down, whatIsWatched(down, {})).find(({ title }) => title === "Links").lines;
  assert.ok(links.some((line) => /^a to b: unused, b is down, 40 ms/.test(line)), links.join());
});

test("an entry under the pointer is described", () => {
  const state = lab({ log: "aaQaaaaa", more: { snapshot_regions: { 0: "a" } } });
  const watched = whatIsWatched(state, {});
  assert.equal(wordsOfThing(state, watched, { cluster: "a", index: 4 }), "web/3, from a, 3:4, delivered to billing-1, not acked");
  assert.equal(wordsOfThing(state, watched, { cluster: "b", index: 0 }), "web/0, from a, 3:0, acknowledged here");
  assert.equal(wordsOfThing(state, watched, { cluster: "b", index: 2 }), "request of a's S1, written in a, 3:2");
  assert.equal(wordsOfThing(state, watched, { cluster: "b", index: 99 }), "");
});

test("messages that a cursor covers without an ack are lost where the engine names them", () => {
  const seen = (more) => bitsOf(lab({ b: cursor({ mark: 1, ranges: [[4, 4]] }), more: { forecast: forecast(4, undefined, { causes: CAUSES, ...more }) } }), "b");
  assert.deepEqual(having(seen({ lost: [[4, 4]] }), LOST), [4], "a's consumer still holds it");
  assert.deepEqual(having(seen({ lost: [[4, 4]] }), ACKED), [0, 1, 2, 3, 5, 7]);
  assert.deepEqual(having(seen({}), LOST), []);
});

test("the menus offer both faults of a crash, and a region's menu the crash behind its proxy", () => {
  const state = lab();
  const watched = whatIsWatched(state, {});
  const flight = flightMenu({ what: "message", producer: "p", number: 1, from: "a", to: "b" });
  for (const menu of [clusterMenu(state, watched, "a"), breakMenu(state, watched), flight]) {
    const crashes = menu.flatMap((group) => group.items).map((item) => item.command).filter((command) => command?.do === "cluster.crash" && command.cluster === "a");
    assert.deepEqual(crashes.filter((command) => !command.proxy), [{ do: "cluster.crash", cluster: "a" }, { do: "cluster.crash", cluster: "a", fault: "process" }]);
  }
  const behind = clusterMenu(state, watched, "a").flatMap((group) => group.items).map((item) => item.command).filter((command) => command?.proxy);
  assert.deepEqual(behind, [{ do: "cluster.crash", cluster: "a", clients: false, proxy: true }]);
});

test("a link that is up can be cut or partitioned, and one that is cut can be healed", () => {
  const state = lab();
  const offered = () => breakMenu(state, whatIsWatched(state, {})).find((group) => group.title === "a link").items.filter((item) => item.command.link === "a <-> b").map((item) => item.command.do);
  assert.deepEqual(offered(), ["link.cut", "link.partition"]);
  state.view.links["a -> b"].state = "cut";
  assert.deepEqual(offered(), ["link.heal"]);
});

test("a label of duplicates has a noun in every form, however little room there is", () => {
  const on_the_way = { billing: { ...forecast(4).billing, to: { b: { duplicates: 6, redeliveries: 0, lost: 0, stranded: 1, stranded_unprocessed: 1 } } } };
  const state = lab({ more: { forecast: on_the_way } });
  const scene = makeScene(state, whatIsWatched(state, {}), { width: 1200, room: 500, scale: 1, window: followingWindow() });
  const harm = labelRequests(scene, state, (runs) => runs.length, 14, null).filter(({ forms }) => forms[0].label[0].colour === "harm");
  const said = harm.flatMap(({ forms }) => forms.map(({ label }) => label.map(({ text }) => text).join("")));
  assert.ok(said.includes("2 more") && said.some((text) => /duplicates$/.test(text)), said.join("\n"));
  for (const text of said) assert.match(text, /duplicate|more|lost|not replicated/);
});
