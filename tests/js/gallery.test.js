import assert from "node:assert/strict";
import { test } from "node:test";

import { factParts, matches, neighbour, whyMatched } from "../../static/js/pages/gallery.js";
import { paragraphsOf } from "../../static/js/model/format.js";
import { isPlayed, guessOf, noteGuess, notePlayed, outcomeParts, wasPlayed } from "../../static/js/model/played.js";

const text = (parts) => parts.map((part) => (typeof part === "string" ? part : (part.harm ?? part.strong))).join("");
const scenario = { name: "region-down", title: "Region crash: duplicates since the last snapshot", watch: "Step back.", about: "Three regions.", until_us: 20_000_000, picture: { lanes: [1, 2, 3] } };
const storageOf = () => {
  const kept = new Map();
  return { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), kept };
};
const outcome = (...counts) => ({ failovers: counts.map((duplicates) => ({ duplicates, lost: 0 })) });

test("the outcome is shown once the scenario was played, with the guess", () => {
  assert.equal(text(factParts(scenario, { played: false, outcome: outcome(31), guess: null })), "20 s · 3 regions · not played");
  assert.equal(text(factParts(scenario, { played: false, outcome: outcome(31), guess: 12 })), "20 s · 3 regions · your guess 12, not played");
  assert.equal(text(factParts(scenario, { played: true, outcome: outcome(31), guess: 12 })), "20 s · 3 regions · 31 duplicates, your guess 12");
  assert.equal(text(factParts(scenario, { played: true, outcome: undefined, guess: null })), "20 s · 3 regions · played");
});

test("outcomes are listed for several failovers, losses, and no failover", () => {
  assert.equal(text(outcomeParts(outcome(7, 6), null)), "7, then 6 duplicates");
  assert.equal(text(outcomeParts({ failovers: [{ duplicates: 0, lost: 90 }] }, 3)), "0 duplicates, 90 lost, your guess 3");
  assert.deepEqual(outcomeParts({ failovers: [] }, null), ["played"]);
});

test("a guess is a whole number and is stored in this browser", () => {
  const storage = storageOf();
  for (const typed of ["", "many", "-1", "1.5", "12345678901"]) assert.equal(noteGuess(storage, "a", typed), false);
  assert.equal(guessOf(storage, "a"), null);
  assert.equal(noteGuess(storage, "a", " 012 "), true);
  assert.equal(guessOf(storage, "a"), 12);
  assert.equal(wasPlayed(storage, "a"), false);
  notePlayed(storage, "a");
  assert.equal(wasPlayed(storage, "a"), true);
  assert.equal(wasPlayed({ getItem() { throw new Error("refused"); } }, "a"), false);
});

test("a scenario is played when its own run was shown to its end", () => {
  const state = { welcome: { until_us: 10 }, view: { branch: 0 }, at_us: 10 };
  assert.equal(isPlayed(state), true);
  assert.equal(isPlayed({ ...state, at_us: 9 }), false);
  assert.equal(isPlayed({ ...state, view: { branch: 1 } }), false);
  assert.equal(isPlayed({ ...state, welcome: null }), false);
});

test("every typed word must occur in the title, what to watch or the description", () => {
  assert.ok(matches(scenario, "three STEP down"));
  assert.ok(!matches(scenario, "three steps"));
  assert.ok(matches(scenario, "  "));
});

test("a text of a scenario file is split into paragraphs without its line breaks", () => {
  assert.deepEqual(paragraphsOf("One\n  line.\nTwo.\n\nNext\nparagraph.\n"), ["One line. Two.", "Next paragraph."]);
  assert.deepEqual(paragraphsOf(""), []);
  assert.deepEqual(paragraphsOf(undefined), []);
});

test("arrow keys move to the nearest card in their direction, also in a short last row", () => {
  const box = (column, row) => ({ left: column * 100, right: column * 100 + 90, top: row * 100, bottom: row * 100 + 80 + column });
  const boxes = [box(0, 0), box(1, 0), box(2, 0), box(0, 1), box(1, 1)];
  assert.equal(neighbour(boxes, 0, "ArrowRight"), 1);
  assert.equal(neighbour(boxes, 2, "ArrowRight"), -1);
  assert.equal(neighbour(boxes, 2, "ArrowDown"), 4);
  assert.equal(neighbour(boxes, 4, "ArrowUp"), 1);
  assert.equal(neighbour(boxes, 4, "ArrowLeft"), 3);
  assert.equal(neighbour(boxes, 0, "ArrowUp"), -1);
  assert.equal(neighbour(boxes, 0, "a"), -1);
});

test("a match outside the title is explained with the field and the words around it", () => {
  const scenario = { name: "three-regions", title: "Three regions: each snapshot takes two rounds", family: "replicated-subscriptions", watch: "The second round.", about: "The first round asks every region for its position.\nThe second one repeats that, because the answers of the first arrive at different times." };
  assert.equal(whyMatched(scenario, ""), "");
  assert.equal(whyMatched(scenario, "rounds snapshot"), "", "every word is in the title");
  assert.equal(whyMatched(scenario, "three replicated"), "family: replicated-subscriptions");
  assert.equal(whyMatched(scenario, "rounds answers"), "description: …one repeats that, because the answers of the first arrive at…");
  assert.equal(whyMatched(scenario, "position"), "description: …asks every region for its position. The second one repeats that,…");
});
