import assert from "node:assert/strict";
import test from "node:test";

import { VIEWS, folded, linesOf } from "../../static/js/protocols/pulsar/pages/admin_panel.js";

const ANSWER = { text: '{\n  "a" : 1,\n  "b" : 0,\n  "c" : {\n    "d" : 2,\n    "e" : 0,\n    "f" : 0,\n    "g" : 0\n  }\n}\n', notes: [[1, "one"]], differs: [[4, { east: "3" }]] };

test("every printed line has its note and the lines of other clusters", () => {
  const lines = linesOf(ANSWER);
  assert.equal(lines.map((line) => line.text).join("\n") + "\n", ANSWER.text);
  assert.equal(lines[1].note, "one");
  assert.deepEqual(lines[4].elsewhere, [["east", "3"]]);
  assert.deepEqual(linesOf({ text: "", notes: [], differs: [] }), []);
});

test("runs of lines without notes are folded; short runs and opening brackets stay", () => {
  const shown = folded(linesOf(ANSWER), VIEWS.different);
  assert.deepEqual(
    shown.map((line) => line.folded ?? line.text.trim()),
    ["{", '"a" : 1,', '"b" : 0,', '"c" : {', '"d" : 2,', 5],
  );
  const all = shown.reduce((count, line) => count + (line.folded ?? 1), 0);
  assert.equal(all, linesOf(ANSWER).length);
  assert.deepEqual(folded(linesOf(ANSWER), VIEWS.every), linesOf(ANSWER));
  assert.deepEqual(
    folded(linesOf(ANSWER), VIEWS.noted).map((line) => line.folded ?? line.text.trim()),
    ["{", '"a" : 1,', '"b" : 0,', '"c" : {', 6],
  );
});
