/** What the page of audits says about chosen files before they are sent. */

import { test } from "node:test";
import assert from "node:assert/strict";

import { problemOf } from "../../static/js/pages/audits.js";

const MIB = 1 << 20;
const file = (name, size) => ({ name, size });

test("files within the limits are sent", () => {
  assert.equal(problemOf([file("a.jsonl", 3 * MIB), file("b.csv", MIB)], 2, 4), null);
});

test("no file, too many, an empty one, and too many bytes are refused with the limit", () => {
  assert.equal(problemOf([], 2, 4)?.message, "No file is chosen.");
  const three = problemOf([file("a", 1), file("b", 1), file("c", 1)], 2, 4);
  assert.equal(`${three?.message} ${three?.hint}`.startsWith("3 files are chosen. At most 2 are taken"), true);
  assert.equal(problemOf([file("a", 1), file("b", 0)], 2, 4)?.message, "b is empty.");
  const large = problemOf([file("a", 4 * MIB), file("b", MIB / 2)], 2, 4);
  assert.equal(large?.message, "The files have 4.5 MiB together.");
  assert.match(large?.hint ?? "", /At most 4 MiB/);
});
