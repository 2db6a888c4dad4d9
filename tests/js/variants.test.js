/** What would have helped, in its order for reading. */

import assert from "node:assert/strict";
import test from "node:test";
import { inOrder, mostHelpful } from "../../static/js/model/variants.js";

const figures = (duplicates, more = {}) => ({ duplicates, redeliveries: 0, stranded: 0, lost: 0, outage_us: 0, moved: true, at_us: 5, difference: "something", ...more });
const variant = (key, ...failovers) => ({ key, name: key, failovers });
const answer = {
  variants: [
    variant("real", figures(7, { difference: "no difference" })),
    variant("nothing", figures(7, { difference: "no difference" })),
    variant("worse", figures(9)),
    variant("unmoved", figures(0, { moved: false })),
    variant("loses", figures(0, { lost: 1 })),
    variant("slow", figures(2, { outage_us: 9 })),
    variant("best", figures(2)),
  ],
};

test("the real run first, then by harm, what never moved last, what changed nothing apart", () => {
  const { real, changed, same } = inOrder(answer, 0);
  assert.equal(real.key, "real");
  assert.deepEqual(changed.map(({ key }) => key), ["best", "slow", "worse", "loses", "unmoved"]);
  assert.deepEqual(same.map(({ key }) => key), ["nothing"]);
});

test("a loss is worse than any number of duplicates", () => {
  assert.equal(mostHelpful(inOrder(answer, 0)).key, "best");
});

test("when nothing helps, nothing is named", () => {
  const lines = inOrder({ variants: answer.variants.filter(({ key }) => ["real", "worse", "unmoved", "loses"].includes(key)) }, 0);
  assert.equal(mostHelpful(lines), null);
});

test("a failover that a variant lacks has no figures", () => {
  const { changed } = inOrder({ variants: [variant("real", figures(1), figures(2)), variant("other", figures(1))] }, 1);
  assert.deepEqual(changed[0].figures, {});
});
