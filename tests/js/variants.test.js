/** The order of the variants in “What would have helped”. */

import assert from "node:assert/strict";
import test from "node:test";
import { inOrder, mostHelpful } from "../../static/js/model/variants.js";

const failover = (harm, more = {}) => ({ label: "s from a to b", at_us: 5, figures: {}, difference: "something", harm, helps: false, ...more });
const variant = (key, ...cases) => ({ key, name: key, cases });
const answer = {
  variants: [
    variant("real", failover([0, 0, 7], { difference: "no difference" })),
    variant("nothing", failover([0, 0, 7], { difference: "no difference" })),
    variant("missing", failover(null, { figures: null })),
    variant("worse", failover([0, 0, 9])),
    variant("unmoved", failover([1])),
    variant("loses", failover([0, 1, 0])),
    variant("slow", failover([0, 0, 2, 9], { helps: true })),
    variant("best", failover([0, 0, 2, 0], { helps: true })),
  ],
};

test("the actual run is separate, changes are sorted by harm with unknown ones last, those without a difference are separate", () => {
  const { real, changed, same } = inOrder(answer, 0);
  assert.equal(real.key, "real");
  assert.deepEqual(changed.map(({ key }) => key), ["best", "slow", "worse", "loses", "unmoved", "missing"]);
  assert.deepEqual(same.map(({ key }) => key), ["nothing"]);
});

test("the most helpful change is named, null when none helps", () => {
  assert.equal(mostHelpful(inOrder(answer, 0)).key, "best");
  const lines = inOrder({ variants: answer.variants.filter(({ key }) => ["real", "worse", "unmoved", "loses", "missing"].includes(key)) }, 0);
  assert.equal(mostHelpful(lines), null);
});

test("each case of a run has its own lines", () => {
  const { real, changed } = inOrder({ variants: [variant("real", failover([1]), failover([5], { label: "second" })), variant("other", failover([0]), failover([2]))] }, 1);
  assert.equal(real.label, "second");
  assert.deepEqual(changed[0].harm, [2]);
});

test("a change that assumes a planned move is listed separately and is never the most helpful", () => {
  const planned = variant("planned", failover([0, 0, 0], { helps: true, assumes: "assumes a planned move while the region was still up" }));
  const lines = inOrder({ variants: [...answer.variants.slice(0, 4), planned, ...answer.variants.slice(4)] }, 0);
  assert.deepEqual(lines.assumed.map(({ key }) => key), ["planned"]);
  assert.equal(mostHelpful(lines).key, "best");
});
