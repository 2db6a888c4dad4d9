import assert from "node:assert/strict";
import { test } from "node:test";

import { figureText } from "../../static/js/pages/pair.js";

test("a figure of two runs is a lower bound while its case still delivered at the end", () => {
  assert.equal(figureText(56, "count", true), "at least 56");
  assert.equal(figureText(56, "count"), "56");
  assert.equal(figureText(2_500_000, "us", false), "2.5 s");
  assert.equal(figureText(null, "count", true), "–");
});
