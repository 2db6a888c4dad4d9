import assert from "node:assert/strict";
import { test } from "node:test";

import { textOf } from "../../static/js/pages/pair_figures.js";

test("a figure of two runs is a lower bound while its case still delivered at the end", () => {
  assert.equal(textOf(56, "count", true), "at least 56");
  assert.equal(textOf(56, "count"), "56");
  assert.equal(textOf(2_500_000, "us", false), "2.5 s");
  assert.equal(textOf(null, "count", true), "–");
});
