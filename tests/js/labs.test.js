import assert from "node:assert/strict";
import { test } from "node:test";

import { ago, factsOfLab, lossOf } from "../../static/js/pages/labs.js";
import { forgetToken, keepToken, ownLabs } from "../../static/js/wire/token.js";

const NOW_MS = Date.parse("2026-11-21T12:00:00Z");
const before = (seconds) => new Date(NOW_MS - seconds * 1000).toISOString();

test("elapsed time is described in words", () => {
  const words = [0, 9, 30, 60, 150, 3600, 90_000, 3_000_000, 70_000_000].map((seconds) => ago(before(seconds), NOW_MS));
  assert.deepEqual(words, ["just now", "just now", "30 seconds ago", "1 minute ago", "2 minutes ago", "1 hour ago", "1 day ago", "1 month ago", "2 years ago"]);
  assert.equal(ago(before(-5), NOW_MS), "just now", "a server whose clock is ahead");
});

test("the facts of a lab and its loss by deletion are described", () => {
  const lab = { scenario: "two-regions", seed: 7, at_us: 5_840_000, commands: 0, branch: 0 };
  assert.equal(factsOfLab(lab), "two-regions · seed 7 · at 5.840 s");
  assert.equal(factsOfLab({ ...lab, commands: 2, branch: 1 }), "two-regions · seed 7 · at 5.840 s · 2 commands · branch 1");
  assert.match(lossOf({ ...lab, commands: 2 }), /the 2 commands given to it, its branches and its reports/);
});

test("tokens are stored by lab, listed and deleted; a window without storage has none", () => {
  const kept = new Map([["other", "x"]]);
  const localStorage = { get length() { return kept.size; }, key: (at) => [...kept.keys()][at], getItem: (key) => kept.get(key), setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };
  keepToken("abc", "secret", { localStorage });
  assert.deepEqual(ownLabs({ localStorage }), [{ id: "abc", token: "secret" }]);
  forgetToken("abc", { localStorage });
  assert.deepEqual(ownLabs({ localStorage }), []);
  assert.deepEqual(ownLabs({ get localStorage() { throw new Error("refused"); } }), []);
});
