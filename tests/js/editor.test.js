/** The scenario editor without a browser: the outline of a text, places, completion, problems, drafts, and what it starts with. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { URL } from "node:url";
import { completionsAt, documentationAt } from "../../static/js/editor/completion.js";
import { CHARACTERS_KEPT, DRAFTS_KEPT, draftOf, draftsIn, dropDraft, firstBeginning, fromServer, keepDraft, ofFile, withSeed } from "../../static/js/editor/drafts.js";
import { placeAt, readOutline, valueAt } from "../../static/js/editor/outline.js";
import { announcement, nextProblem, proposalOf, withProposal, wordsOfProblem } from "../../static/js/editor/ace_editor.js";
import { fragmentOf } from "../../static/js/wire/text_link.js";

const SCHEMA = JSON.parse(readFileSync(new URL("../../docs/scenario.schema.json", import.meta.url), "utf8"));
const HEAD = `format: 1
family: replicated-subscriptions
clusters:
  us-west: {}
  us-east:
    settings: {}
topics:
  orders: {clusters: [us-west, us-east]}
producers:
  web: {topic: orders, cluster: us-west}
subscriptions:
  billing: {topic: orders}
`;

/** The completions at the mark ‸ of a text. */
function at(text) {
  const offset = text.indexOf("‸");
  return completionsAt(SCHEMA, text.replace("‸", ""), offset).completions;
}
const labels = (text) => at(text).map(({ label }) => label);
const snippet = (text, label) => at(text).find((one) => one.label === label)?.snippet;

test("keys of the top level: those that are required first, none that is written, none of another protocol", () => {
  const found = at(`${HEAD}‸`);
  assert.deepEqual(found.filter(({ kind }) => kind === "required key").map(({ label }) => label), ["name", "title", "until"]);
  const names = found.map(({ label }) => label);
  assert.ok(names.includes("consumers") && names.includes("commands"));
  assert.ok(!names.includes("clusters") && !names.includes("sessions"), "one is written, the other belongs to another protocol");
  assert.ok(labels("format: 1\nfamily: durable-shared-subscriptions\n‸").includes("sessions"));
  assert.ok(labels("format: 1\n‸").includes("sessions"), "without a family all are offered");
  assert.equal(snippet(`${HEAD}‸`, "commands"), "commands:\n  - {$0}");
  assert.equal(snippet(`${HEAD}‸`, "consumers"), "consumers:\n  $0");
});

test("keys within a section, in brackets and below each other", () => {
  assert.equal(at(`${HEAD}consumers:\n  one:\n    ‸`)[0].label, "subscription");
  assert.equal(at(`${HEAD}consumers:\n  one:\n    ‸`)[0].kind, "required key");
  const flow = labels(`${HEAD}consumers:\n  one: {subscription: billing, ‸}`);
  assert.ok(flow.includes("processing") && !flow.includes("subscription"));
  assert.deepEqual(labels(`${HEAD}consumers:\n  ‸`), [], "names of consumers are the author's own");
  assert.equal(snippet(`${HEAD}consumers:\n  one: {‸: billing}`, "subscription"), "subscription", "a colon follows already");
});

test("names that the text declares are offered where they are referred to", () => {
  assert.deepEqual(labels(`${HEAD}consumers:\n  one: {subscription: ‸}`), ["billing"]);
  assert.deepEqual(labels(`${HEAD}consumers:\n  one:\n    cluster: us‸`), ["us-west", "us-east"]);
  assert.deepEqual(labels(`${HEAD}  audit: {topic: ‸`), ["orders"]);
  assert.deepEqual(labels(HEAD.replace("[us-west, us-east]", "[us-west, ‸]")), ["us-west", "us-east"]);
  assert.deepEqual(labels(HEAD.replace("[us-west, us-east]", "‸")), ["[us-west, us-east]", "[ ]"]);
  assert.deepEqual(labels(`${HEAD}links:\n  ‸`), ["default", "us-west -> us-east", "us-west <-> us-east", "us-east -> us-west"]);
  assert.deepEqual(labels(`${HEAD}consumers:\n  one: {hold: {messages: [‸]}}`), ["web/"]);
});

test("choices, booleans and defaults", () => {
  assert.deepEqual(labels("format: 1\nfamily: ‸").length, Object.keys(SCHEMA["x-protocol-of"]).length);
  assert.deepEqual(at(`${HEAD}options:\n  snapshotCacheRule: ‸`).map(({ label, kind }) => `${label} ${kind}`), ["spread default", "oldest-first value"]);
  assert.deepEqual(labels(`${HEAD}  audit: {replicateSubscriptionState: ‸}`), ["true", "false"]);
  assert.equal(at(`${HEAD}settings:\n  replicatedSubscriptionsSnapshotFrequencyMillis: ‸`)[0].label, "1000");
  assert.equal(snippet("format: 1\nfamily:‸", "topic-creation"), " topic-creation", "the missing space is written");
});

test("a command is offered with its required arguments, then its arguments by name", () => {
  assert.equal(snippet(`${HEAD}commands:\n  - {at: 3s, do: ‸}`, "cluster.crash"), "cluster.crash, cluster: ${1}");
  assert.equal(snippet(`${HEAD}commands:\n  - at: 3s\n    do: cl‸`, "cluster.crash"), "cluster.crash\n    cluster: ${1}");
  assert.equal(snippet(`${HEAD}commands:\n  - do: cl‸`, "link.cut"), "link.cut\n    link: ${1}");
  assert.ok(!labels(`${HEAD}commands:\n  - {at: 3s, do: ‸}`).includes("session.kill"), "a command of another protocol");
  const [command] = at(`${HEAD}commands:\n  - {at: 3s, do: ‸}`).filter(({ label }) => label === "link.slow");
  assert.ok(command.words.some((words) => words.startsWith("latency: ")), "its documentation lists the arguments");
  assert.deepEqual(labels(`${HEAD}commands:\n  - {at: 3s, do: link.cut, ‸}`), ["link"]);
  assert.equal(at(`${HEAD}commands:\n  - {at: 3s, do: link.cut, link: ‸}`)[0].label, "us-west -> us-east");
  assert.deepEqual(labels(`${HEAD}commands:\n  - ‸`), ["at", "do"]);
});

test("a distribution is offered as a map, then with the keys of the one that is chosen", () => {
  assert.equal(snippet(`${HEAD}links:\n  default: {latency: ‸}`, "{distribution: uniform, low, high}"), "{distribution: uniform, low: ${1}, high: ${2}}");
  assert.deepEqual(labels(`${HEAD}links:\n  default: {latency: {distribution: lognormal, ‸}}`), ["median", "sigma"]);
});

test("every section, setting, option and command of the schema is offered in its place", () => {
  const families = Object.entries(SCHEMA["x-protocol-of"]);
  const root = new Set(families.flatMap(([family]) => labels(`family: ${family}\n‸`)));
  assert.deepEqual([...root, "family"].sort(), Object.keys(SCHEMA.properties).sort());
  for (const [key, name] of [["settings", "broker-settings"], ["options", "options"]]) {
    const offered = new Set(families.flatMap(([family]) => labels(`family: ${family}\n${key}:\n  ‸`)));
    assert.deepEqual([...offered].sort(), Object.keys(SCHEMA.$defs[name].properties).sort());
  }
  const commands = new Set(families.flatMap(([family]) => labels(`family: ${family}\ncommands:\n  - {do: ‸}`)));
  assert.deepEqual([...commands].sort(), [...SCHEMA.$defs.commands.items.properties.do.enum].sort());
});

test("nothing is offered in comments, block texts, and after a value that is complete", () => {
  for (const text of [`${HEAD}# cl‸`, "format: 1\nabout: |\n  cl‸", "title: A\n  ‸", `${HEAD}  more: {topic: orders} # ‸`]) assert.deepEqual(labels(text), [], text);
});

test("documentation: the key's description, what it takes, and its default", () => {
  const text = `${HEAD}commands:\n  - {at: 3s, do: link.cut, link: us-west -> us-east}\n`;
  const row = text.slice(0, text.indexOf("do:")).split("\n").length - 1;
  assert.deepEqual(documentationAt(SCHEMA, text, row, text.indexOf("do:") + 1).path, "commands[0].do");
  assert.match(documentationAt(SCHEMA, text, row, text.indexOf("link.cut") + 2).words[0], /^Cut a link/);
  assert.match(documentationAt(SCHEMA, HEAD, 9, HEAD.indexOf("cluster: us-west")).words.join(" "), /Value: name of a cluster\./);
  assert.equal(documentationAt(SCHEMA, HEAD, 3, HEAD.indexOf("us-west: {}") - 1), null, "before the first key of the line");
});

test("an unfinished text keeps its outline: brackets that are not closed end at the next key", () => {
  const text = "clusters:\n  a: {settings: {x: 1\n  b: {}\ntopics:\n  t: {clusters: [a, b\nproducers: {}\n";
  const { root } = readOutline(text);
  assert.deepEqual(root.entries.map(({ key }) => key), ["clusters", "topics", "producers"]);
  assert.deepEqual(valueAt(readOutline(text), ["clusters"]).entries.map(({ key }) => key), ["a", "b"]);
  const items = readOutline("commands:\n- {at: 1s, do: x}\n-   at: 2s\n    do: y\n");
  assert.deepEqual(valueAt(items, ["commands"]).entries.map(({ value }) => value.entries.map((entry) => entry.value.text)), [["1s", "x"], ["2s", "y"]]);
  assert.equal(valueAt(readOutline(`a: "x # y" # z\nb: 'it''s'\n`), ["a"]).text, "x # y");
  assert.equal(placeAt("a: {b: [1, ", 11).path.join("/"), "a/b/1");
});

test("texts as large as the limit, however they are nested, are read in one pass", () => {
  const size = 262_144;
  const hostile = ["[", "{a: ", "- ", "a: {b: [1, 2],\n ", 'x: "', "# \n", "&a [*a, ", "a" + " ".repeat(500)];
  for (const part of hostile) assert.ok(readOutline(part.repeat(size / part.length)).entries.length < size, part);
});

test("problems are worded as on the command line, and the next one follows the cursor and starts over", () => {
  const problem = (line, column) => ({ line, column, path: "p", message: `m${line}`, hint: "h" });
  const problems = [problem(2, 1), problem(2, 9), problem(7, 3), { line: null, column: null, path: "", message: "and 3 more problems", hint: "fix those above first" }];
  assert.equal(wordsOfProblem(problems[0]), "p: m2; h");
  assert.equal(wordsOfProblem(problems[3]), "and 3 more problems; fix those above first");
  assert.equal(announcement(problems, 6), "6 problems. Line 2: p: m2; h");
  assert.equal(announcement([], 0), "No problems.");
  const next = (line, column, step) => nextProblem(problems, line, column, step);
  assert.deepEqual([next(1, 1, 1), next(2, 1, 1), next(7, 3, 1), next(2, 1, -1), next(9, 1, -1)], [problems[0], problems[1], problems[0], problems[2], problems[2]]);
  assert.equal(nextProblem([], 1, 1, 1), null);
});

/** A browser's storage; with `full` it stores nothing. */
function storage(full = false) {
  const held = new Map();
  return {
    getItem: (key) => held.get(key) ?? null,
    setItem(key, value) {
      if (full) throw new Error("full");
      held.set(key, value);
    },
  };
}

test("each start has its own draft; the oldest are given up beyond the limits", () => {
  const store = storage();
  const keep = (start, text = start) => keepDraft(store, { start, title: start, text });
  assert.ok(keep("lab/a") && keep("file:b") && keep("lab/a", "changed"));
  assert.deepEqual(draftsIn(store).map(({ start, text }) => [start, text]), [["lab/a", "changed"], ["file:b", "file:b"]]);
  dropDraft(store, "file:b");
  assert.equal(draftOf(store, "file:b"), null);
  for (let number = 0; number < DRAFTS_KEPT + 5; number += 1) keep(`file:${number}`);
  assert.equal(draftsIn(store).length, DRAFTS_KEPT);
  keep("large", "x".repeat(CHARACTERS_KEPT));
  assert.deepEqual(draftsIn(store).map(({ start }) => start), ["large"]);
  assert.equal(keepDraft(storage(true), { start: "a", title: "a", text: "a" }), false);
  assert.deepEqual(draftsIn(null), []);
  store.setItem("failover-lab.editor.drafts", '[{"start": 1}, 7]');
  assert.deepEqual(draftsIn(store), []);
});

test("the editor begins with a link's text, the start of the address, the newest draft, or the first example", async () => {
  const sent = { start: "minimal/x", title: "X", text: "sent" };
  const fetchStart = async (start) => ({ start, title: start, text: `until: 9s # ${start}` });
  const begin = (hash, asked, store = storage()) => firstBeginning({ location: { hash }, storage: store, sent, asked, fetchStart });
  assert.equal((await begin("", false)).text, "sent");
  const store = storage();
  keepDraft(store, { start: "file:mine.yaml", title: "mine.yaml", text: "mine" });
  assert.equal((await begin("", false, store)).text, "mine");
  assert.equal((await begin("", true, store)).text, "sent");
  keepDraft(store, { start: "scenario/a", title: "A", text: "changed" });
  assert.equal((await begin("", false, store)).text, "until: 9s # scenario/a", "the original, which the page compares with the draft");
  assert.equal((await begin(await fragmentOf("linked"), false, store)).text, "linked");
  const run = await begin(await fragmentOf(JSON.stringify({ scenario: "a", title: "T", seed: 7, commands: [{}, {}] }), "run"), false);
  assert.equal(run.text, "seed: 7\nuntil: 9s # scenario/a");
  assert.match(run.note, /^2 commands given by hand in this run are not in the text/);
  assert.equal(withSeed("seed: 1\nuntil: 3s", 9), "seed: 9\nuntil: 3s");
  assert.ok(fromServer("lab/x") && !fromServer("file:lab/x"));
});

test("a file is read up to the limit, with the line breaks of the editor", async () => {
  const file = (name, text) => ({ name, size: text.length, text: async () => text });
  const store = storage();
  const opened = await ofFile(file("a.yaml", "a: 1\r\nb: 2\r\n"), 100, store);
  assert.deepEqual(opened, { start: "file:a.yaml", title: "a.yaml", text: "a: 1\nb: 2\n" });
  keepDraft(store, { ...opened, text: "a: 7" });
  assert.equal((await ofFile(file("a.yaml", "a: 7"), 100, store)).start, "file:a.yaml");
  assert.equal((await ofFile(file("a.yaml", "a: 8"), 100, store)).start, "file:a.yaml (2)", "the changed text is not replaced");
  for (const length of [101, 401]) await assert.rejects(ofFile(file("b.yaml", "x".repeat(length)), 100, store), /b\.yaml is too large: the editor takes at most 100 characters/);
});

test("a proposed name replaces the word at the problem's place, whatever is beside it", () => {
  const problem = { line: 2, column: 10, path: "producers.shop.topic", message: 'there is no topic "order"', hint: "did you mean orders?" };
  assert.equal(proposalOf(problem), "orders");
  assert.equal(withProposal("a: 1\n  topic: order, rate: 1/s}\n", { ...problem, column: 10 }, "orders"), "a: 1\n  topic: orders, rate: 1/s}\n");
  assert.equal(withProposal("producer:\n  x: 1", { ...problem, line: 1, column: 1 }, "producers"), "producers:\n  x: 1");
  for (const other of [{ hint: "one of a, b" }, { hint: "" }, { line: null }, { hint: "did you mean a or b?" }]) assert.equal(proposalOf({ ...problem, ...other }), null);
});
