import assert from "node:assert/strict";
import { test } from "node:test";

import { questionOf } from "../../static/js/model/shared_words.js";

test("a question is offered only after duplicates or losses", () => {
  assert.equal(questionOf({ duplicates: 0, lost: 0 }), null);
  assert.equal(questionOf({ duplicates: 3, lost: 0 }), "Why duplicates?");
  assert.equal(questionOf({ duplicates: 0, lost: 2 }), "Why lost?");
  assert.equal(questionOf({ duplicates: 1, lost: 2 }), "Why lost, why duplicates?");
  assert.equal(questionOf(null), null);
});
