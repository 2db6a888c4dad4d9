import test from "node:test";
import assert from "node:assert/strict";
import { fragmentOf, placeOf, readingTime, storyPath } from "../../static/js/model/addresses.js";

test("a step of a story survives encoding in the address", () => {
  const place = { failover: 1, kind: "duplicates", producer: "shop & co/#1", number: 53, step: 4 };
  assert.deepEqual(placeOf(fragmentOf(place)), place);
});

test("a fragment without a story gives null", () => {
  for (const fragment of ["", "#", "#token=abc", "#failover=0&kind=duplicates&producer=shop", "#failover=-1&kind=x&producer=y&number=1", "#failover=0&kind=&producer=y&number=1"]) assert.equal(placeOf(fragment), null, fragment);
});

test("a step that is missing or 0 is the first", () => {
  assert.equal(placeOf("#failover=0&kind=lost&producer=shop&number=1").step, 1);
  assert.equal(placeOf("#failover=0&kind=lost&producer=shop&number=1&step=0").step, 1);
});

test("paths name a message by its place or by producer and number", () => {
  assert.equal(storyPath("/labs/x/", 0, "duplicates", { place: 7 }), "/labs/x/failovers/0/duplicates/story.json?place=7");
  assert.equal(storyPath("/labs/x/", 2, "lost", { producer: "a b", number: 1 }), "/labs/x/failovers/2/lost/story.json?producer=a+b&number=1");
});

test("longer sentences are shown longer, and every sentence at least two seconds", () => {
  assert.equal(readingTime("Short."), 2000);
  assert.ok(readingTime("x".repeat(120)) > 8000);
});
