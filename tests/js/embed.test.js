/** The parameters of a lab in a frame, and the code that a page's author copies. */

import assert from "node:assert/strict";
import test from "node:test";
import { embedCode, embedOf, needsCopy } from "../../static/js/pages/share.js";

const NOTHING = { controls: false, at_us: null, branch: null, speed: null, plays: false };

test("each parameter is read within its bounds", () => {
  assert.deepEqual(embedOf("?embed=1&panel=time&theme=dark"), NOTHING);
  assert.deepEqual(embedOf("?at=5.2&branch=1&speed=0.5&controls=1&play=1"), { controls: true, at_us: 5_200_000, branch: 1, speed: 0.5, plays: true });
  assert.deepEqual(embedOf("?at=-1&branch=1.5&speed=0&controls=0&play="), NOTHING);
  assert.deepEqual(embedOf("?at=1e3&branch=x&speed=1001"), NOTHING);
  assert.deepEqual(embedOf("?at=9999999999"), NOTHING);
});

test("a frame shows a copy only when it is not to show the lab live", () => {
  assert.equal(needsCopy(NOTHING), false);
  for (const more of [{ controls: true }, { at_us: 0 }, { branch: 0 }, { speed: 1 }, { plays: true }]) assert.equal(needsCopy({ ...NOTHING, ...more }), true);
});

const NOW = { title: 'One "lab" & <more>', search: "?panel=time&topic=orders", at_us: 5_200_000, branch: 1, speed: 0.5 };

test("the code has what is asked for, in an address that is read back", () => {
  const code = embedCode("http://lab/labs/x/", NOW, { instant: true, panel: true, controls: true, theme: "dark" });
  const search = code.match(/src="http:\/\/lab\/labs\/x\/([^"]*)"/)[1].replaceAll("&amp;", "&");
  assert.deepEqual(embedOf(search), { controls: true, at_us: 5_200_000, branch: 1, speed: 0.5, plays: false });
  assert.deepEqual(Object.fromEntries(new URLSearchParams(search)), { panel: "time", topic: "orders", embed: "1", at: "5.2", branch: "1", controls: "1", speed: "0.5", theme: "dark" });
  assert.ok(code.includes('title="One &quot;lab&quot; &amp; &lt;more>"'), code);
});

test("a live frame names neither instant nor speed", () => {
  const code = embedCode("http://lab/labs/x/", NOW, { instant: false, panel: false, controls: false, theme: "" });
  assert.ok(code.startsWith('<iframe src="http://lab/labs/x/?topic=orders&amp;embed=1" '), code);
});
