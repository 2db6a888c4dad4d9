/** The instant shown, the loop, speeds, typed instants, commands from forms, search in the gallery. */

import assert from "node:assert/strict";
import test from "node:test";
import { AHEAD_MS, SPEEDS, instantShown, makeLoop, placeOfSpeed, speedText, stoppedClock, tookFrame } from "../../static/js/transport/clock.js";
import { commandOf } from "../../static/js/model/commands.js";
import { makeLabLink, WAITING_MOST } from "../../static/js/transport/lab_link.js";
import { bytes, counted, parseSpan, span, whole } from "../../static/js/model/format.js";
import { matches } from "../../static/js/pages/gallery.js";
import { levelFor, sharesOf } from "../../static/js/protocols/pulsar/model/tiles.js";

const lab = (at_us, more = {}) => ({ epoch: 1, at_us, playing: true, speed: 0.5, ...more });

test("when paused, the instant shown is exactly the server's", () => {
  const clock = tookFrame(stoppedClock(), lab(1_000_000, { playing: false }), 100);
  assert.equal(instantShown(clock, 5000), 1_000_000);
});

test("during playback the instant shown advances at the lab's speed, at most a little beyond the last frame", () => {
  const clock = tookFrame(stoppedClock(), lab(1_000_000), 100);
  assert.equal(instantShown(clock, 150), 1_025_000);
  assert.equal(instantShown(clock, 100_000), 1_000_000 + AHEAD_MS * 500);
});

test("the instant shown never moves back within an epoch, but does after a seek", () => {
  let clock = tookFrame(stoppedClock(), lab(1_000_000), 0);
  clock = tookFrame(clock, lab(1_010_000), 50);
  assert.ok(instantShown(clock, 50) >= 1_025_000, "the page was at 1.025 already");
  clock = tookFrame(clock, lab(200_000, { epoch: 2 }), 60);
  assert.equal(instantShown(clock, 60), 200_000);
});

test("the loop draws once per wake, continues while something moves, and records its times", () => {
  const asked = [];
  let now_ms = 0;
  let again = true;
  const loop = makeLoop({ request: (run) => asked.push(run), now: () => (now_ms += 2), tick: () => again });
  loop.wake();
  loop.wake();
  assert.equal(asked.length, 1);
  asked.shift()(0);
  assert.equal(asked.length, 1);
  again = false;
  asked.shift()(16);
  assert.equal(asked.length, 0);
  assert.deepEqual(loop.times_ms, [2, 2]);
});

test("speeds range from a thousandth to full speed and have labels", () => {
  assert.deepEqual([SPEEDS[0], SPEEDS.at(-1)], [0.001, 1000]);
  assert.deepEqual([0.02, 1, 5].map(speedText), ["1⁄50", "real time", "×5"]);
  assert.equal(SPEEDS[placeOfSpeed(0.019)], 0.02);
});

test("typed instants and spans are parsed, and spans are formatted", () => {
  const cases = [["12.5", 12_500_000], [" 300 ms", 300_000], ["2m", 120_000_000], ["1:05.25", 65_250_000], ["0,5 s", 500_000], ["7us", 7], ["soon", null], ["-1", null], ["5 lightyears", null]];
  for (const [text, expected] of cases) assert.equal(parseSpan(text), expected, text);
  assert.deepEqual([40, 1500, 235_000, 1_200_000, 30_000_000, 240_000_000].map(span), ["40 µs", "1.5 ms", "235 ms", "1.2 s", "30 s", "4 min"]);
  assert.equal(whole(1234567), "1\u2009234\u2009567");
  assert.equal(counted(1, "entry", "entries"), "1 entry");
  assert.equal(bytes(1250), "1.3 KB");
});

test("a form's texts become a command without empty fields, with lists and numbers parsed", () => {
  const kinds = {
    "producer.publish": { producer: "producer", count: "integer" },
    "consumer.hold": { consumer: "consumer", messages: "messages", share: "share", for: "duration" },
    "subscription.replicate": { subscription: "subscription", cluster: "cluster", enabled: "boolean" },
    "setting.change": { cluster: "cluster", setting: "setting-name", value: "setting-value" },
    "topic.grow": { topic: "topic", partitions: "integer" },
  };
  const commands = Object.entries(kinds).map(([command, names]) => [command, { label: "", consequence: "", arguments: Object.entries(names).map(([name, kind]) => ({ name, kind, required: name === "enabled" })) }]);
  const state = { welcome: { tables: { commands: Object.fromEntries(commands) } } };
  assert.deepEqual(commandOf(state, "producer.publish", { producer: "web", count: "10" }), { do: "producer.publish", producer: "web", count: 10 });
  assert.deepEqual(commandOf(state, "consumer.hold", { consumer: "c", messages: "web/5, web/7", share: "", for: "" }), { do: "consumer.hold", consumer: "c", messages: ["web/5", "web/7"] });
  assert.deepEqual(commandOf(state, "subscription.replicate", { subscription: "s", cluster: "a", enabled: false }), { do: "subscription.replicate", subscription: "s", cluster: "a", enabled: false });
  assert.deepEqual(commandOf(state, "setting.change", { cluster: "", setting: "brokerDeduplicationEnabled", value: "true" }), { do: "setting.change", setting: "brokerDeduplicationEnabled", value: true });
  assert.deepEqual(commandOf(state, "topic.grow", { topic: "t", partitions: "many" }), { do: "topic.grow", topic: "t", partitions: "many" }, "the server says what is wrong, not the form");
});

test("a viewer gets a notice and sends nothing, and a refusal is shown as a notice", () => {
  const sent = [];
  const notices = [];
  let owner = false;
  const link = makeLabLink({ send: (message) => sent.push(message) > 0, isOwner: () => owner, say: (notice) => notices.push(notice) });
  link.play(1);
  assert.equal(sent.length, 0);
  assert.match(notices[0].error, /You are viewing/);
  owner = true;
  link.command({ do: "cluster.crash", cluster: "a" });
  link.answered({ type: "result", id: sent[0].id, ok: false, code: "already-down", error: "a is down", hint: "restart it first" });
  assert.equal(notices[1].error, "The command cluster.crash was refused: a is down");
  assert.equal(notices[1].hint, "restart it first");
  let done = 0;
  link.command({ do: "cluster.restart", cluster: "a" }, { done: () => done++ });
  link.answered({ type: "result", id: sent[1].id, ok: true });
  assert.equal(done, 1);
});

test("a scenario matches when every word occurs in any of its texts", () => {
  const scenario = { name: "issue-10054", title: "Ten messages", family: "replicated-subscriptions", watch: "Five duplicates", about: "" };
  assert.ok(matches(scenario, "10054 FIVE"));
  assert.ok(matches(scenario, "  "));
  assert.ok(!matches(scenario, "five missing"));
});

test("a tile's level fits the stretch, and its shares sum to 1", () => {
  assert.deepEqual([1, 3, 4, 63, 64, 1e9].map(levelFor), [0, 0, 1, 2, 3, 8]);
  const tile = { level: 1, counts: { 0: [3, 0], 1: [0, 0], 1110: [1, 0] } };
  assert.deepEqual(sharesOf(tile, 0, 2), { origins: [0.75, 0], markers: 0.25 });
  assert.equal(sharesOf(tile, 1, 2), null, "nothing there yet");
  assert.deepEqual(sharesOf({ level: 0, kind: [1] }, 0, 2), { origins: [0, 1], markers: 0 });
});

test("requests made before the owner is known are held and sent then", () => {
  const sent = [];
  const notices = [];
  let owner = null;
  const link = makeLabLink({ send: (message) => sent.push(message) > 0, isOwner: () => owner, say: (notice) => notices.push(notice.error) });
  link.play(1);
  link.play(1);
  link.step("control");
  link.play(2);
  assert.deepEqual([sent, [...new Set(notices)]], [[], ["Connecting…"]]);
  owner = true;
  link.ownerKnown();
  assert.deepEqual(sent.map(({ type }) => type), ["step", "play"], "pressing play twice cancels out");
  link.ownerKnown();
  assert.equal(sent.length, 2);
});

test("a viewer without the token gets one notice for all held requests", () => {
  const notices = [];
  let owner = null;
  const link = makeLabLink({ send: () => assert.fail("a viewer sends nothing"), isOwner: () => owner, say: (notice) => notices.push(notice.error) });
  for (let at = 0; at < WAITING_MOST + 5; at++) link.step("control");
  owner = false;
  link.ownerKnown();
  assert.equal(notices.filter((words) => words === "You are viewing. Only the owner can control this lab.").length, 1);
});
