/** Lines of the list of events are words, not the codes of the trace. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { reasonWords } from "../../static/js/model/shared_words.js";
import { GROUP_ROWS } from "../../static/js/protocols/emqx/model/row_words.js";
import { PULSAR_ROWS } from "../../static/js/protocols/pulsar/model/row_words.js";

const plain = (parts) => parts.map((part) => (typeof part === "string" ? part : part.strong ?? part.harm)).join("");

test("a reason is words; those without an entry lose their hyphens", () => {
  assert.equal(reasonWords("link-cut"), "the link is cut");
  assert.equal(reasonWords("taken-over"), "taken over");
  assert.equal(reasonWords("unload"), "unload");
});

test("lines with a reason have its words", () => {
  const refused = { type: "update.refused", cluster: "b", subscription: "s", reason: "behind-mark-delete" };
  assert.equal(plain(PULSAR_ROWS["update.refused"](refused, {})), "b ignores the update of s: its position is before the mark-delete");
  const step = { type: "migration.step-failed", tenant: "acme", reason: "consumption-progress", detail: "the link is cut" };
  assert.equal(plain(PULSAR_ROWS["migration.step-failed"](step, {})), "acme: step consumption progress failed: the link is cut");
  const lost = { type: "protocol.lost", client: "ben", subscription: "meters", reason: "leader-wanted", detail: "link-cut" };
  assert.equal(plain(GROUP_ROWS["protocol.lost"](lost)), "leader-wanted lost in meters (ben): the link is cut");
});
