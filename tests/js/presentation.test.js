/** The model of a presentation: a page's role, the words of the bar, and which parts a follower applies. */

import assert from "node:assert/strict";
import test from "node:test";
import { barWords, changedFields, plainItem, presentedLab, roleOf, spokenCode } from "../../static/js/pages/presenting.js";

const room = (more = {}) => ({ code: "BCDFGH", by: "first", here: true, followers: 2, ...more });
const page = (more = {}) => ({ owner: true, name: null, claims: false, ...more });

test("the page with the presenter's name presents, other pages of the owner do not, and a follower never does", () => {
  assert.equal(roleOf(room(), page({ name: "first" })), "presenter");
  assert.equal(roleOf(room(), page({ name: "second" })), "elsewhere");
  assert.equal(roleOf(room(), page({ name: "second", claims: true })), "presenter");
  assert.equal(roleOf(room({ by: null }), page({ name: "first" })), "presenter");
  assert.equal(roleOf(room({ by: null }), page()), "elsewhere");
  assert.equal(roleOf(room(), page({ owner: false, name: "first", claims: true })), "follower");
  assert.equal(roleOf({ code: null }, page({ name: "first", claims: true })), "none");
});

test("the bar names the room, the followers, and a presenter who is not connected", () => {
  assert.equal(spokenCode("BCDFGH"), "BCD FGH");
  assert.equal(barWords("presenter", room()), "Presenting in room BCD FGH: 2 followers.");
  assert.equal(barWords("presenter", room({ followers: 0 })), "Presenting in room BCD FGH: no followers yet.");
  assert.match(barWords("follower", room()), /^You follow the presenter in room BCD FGH/);
  assert.match(barWords("follower", room({ here: false })), /^The presenter is not connected\./);
  assert.match(barWords("elsewhere", room()), /from another page of its owner/);
});

test("only an item of a few texts, numbers and nulls is sent", () => {
  assert.deepEqual(plainItem({ cluster: "a", index: 5, marker: null }), { cluster: "a", index: 5, marker: null });
  for (const thing of [null, { flight: {} }, { index: -1 }, { share: 0.5 }, Object.fromEntries("abcdefghi".split("").map((name) => [name, 1]))]) assert.equal(plainItem(thing), null);
});

test("a follower applies what has changed, the item before the highlight", () => {
  const shown = { panel: "time", lit: { seq: 1 }, item: { marker: 2 }, tour: null };
  assert.deepEqual(changedFields(shown, {}), ["panel", "item", "lit"]);
  assert.deepEqual(changedFields(shown, JSON.parse(JSON.stringify(shown))), []);
  assert.deepEqual(changedFields({ ...shown, lit: null }, shown), ["lit"]);
});

test("a copy's address names the presented lab, and nothing else is taken for one", () => {
  assert.equal(presentedLab("?panel=time&presented=abcdefghjkmn"), "abcdefghjkmn");
  for (const search of ["", "?presented=", "?presented=//elsewhere", "?presented=A", `?presented=${"a".repeat(41)}`]) assert.equal(presentedLab(search), null);
});
