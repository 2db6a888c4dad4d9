/** The query of a lab's address: what the page shows. */

import assert from "node:assert/strict";
import test from "node:test";
import { searchOf, selectionOf } from "../../static/js/model/addresses.js";
import { versionWarning } from "../../static/js/pages/run.js";
import { fragmentOf, textOf } from "../../static/js/wire/text_link.js";

test("panel and choices go into the query, and back", () => {
  const selection = { topic: "orders & more", subscription: "billing" };
  const search = searchOf({ panel: "time", selection });
  assert.equal(search, "?panel=time&topic=orders+%26+more&subscription=billing");
  assert.deepEqual(selectionOf(search), selection);
  assert.deepEqual(selectionOf(`?topic=${"x".repeat(201)}&theme=dark&group=`), {});
});

test("a run in a fragment is read back, and a link that was cut off gives nothing", async () => {
  const text = JSON.stringify({ title: "Größe ✓", commands: Array.from({ length: 2000 }, (_, at_us) => ({ at_us, do: "link.cut" })) });
  const fragment = await fragmentOf(text, "run");
  assert.match(fragment, /^#run=[\w-]+$/);
  assert.equal(await textOf(fragment, "run"), text);
  assert.equal(await textOf(fragment.slice(0, -20), "run"), null);
  assert.equal(await textOf(fragment, "yaml"), null);
});

test("a run of another version is announced with both versions", () => {
  assert.equal(versionWarning({ engine_version: "0.1.0" }, "0.1.0"), "");
  assert.equal(versionWarning({ engine_version: "0.1.0" }, "0.2.0"), "The run was made by version 0.1.0; this server has version 0.2.0. It may differ here.");
});
