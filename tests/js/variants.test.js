/** The order of the variants in “What would have helped”, as the server gives it. */

import assert from "node:assert/strict";
import test from "node:test";
import { inOrder } from "../../static/js/render/what_if_table.js";

const variant = (key, ...cases) => ({ key, name: `name of ${key}`, settings: [{ key, value: "1", paste: `${key}=1`, where: "broker.conf" }], cases });
const cases = (label) => ({ label, at_us: 5, figures: {}, difference: "something", helps: false, assumes: null, price_words: "" });
const variants = [variant("real", cases("first"), cases("second")), variant("slow", cases("first"), cases("second")), variant("best", cases("first"), cases("second"))];
const rows = (...keys) => keys.map((key, at) => ({ key, group: at ? "changed" : "real" }));

test("each case has its own lines in the server's order, with the settings of the change", () => {
  const answer = { variants, order: [{ rows: rows("real", "best", "slow"), best: "best" }, { rows: rows("real", "slow", "best"), best: null }] };
  const first = inOrder(answer, 0);
  assert.deepEqual(first.lines.map(({ key, label, group }) => [key, label, group]), [["real", "first", "real"], ["best", "first", "changed"], ["slow", "first", "changed"]]);
  assert.equal(first.real.name, "name of real");
  assert.equal(first.best.settings[0].paste, "best=1");
  const second = inOrder(answer, 1);
  assert.deepEqual(second.lines.map(({ key, label }) => [key, label]), [["real", "second"], ["slow", "second"], ["best", "second"]]);
  assert.equal(second.best, null);
});
