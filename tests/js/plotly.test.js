import assert from "node:assert/strict";
import test from "node:test";
import { lazyPlotly } from "../../static/js/render/plotly.js";

function page() {
  const added = [];
  const idle = [];
  const document = { createElement: () => ({ addEventListener: () => {} }), head: { append: (script) => added.push(script.src) } };
  return { added, idle, document, window: { requestIdleCallback: (run) => idle.push(run) } };
}

test("Plotly is requested once, by the first chart that is drawn, when the page is idle", () => {
  const { added, idle, document, window } = page();
  const plotly = lazyPlotly(document, window, "/static/plotly.js", () => {});
  assert.equal(idle.length, 0);
  assert.equal(plotly(), undefined);
  plotly();
  assert.equal(idle.length, 1);
  assert.deepEqual(added, []);
  idle[0]();
  assert.deepEqual(added, ["/static/plotly.js"]);
  window.Plotly = { react: () => {} };
  assert.equal(plotly(), window.Plotly);
});

test("without an address Plotly is not requested", () => {
  const { idle, document, window } = page();
  assert.equal(lazyPlotly(document, window, undefined, () => {})(), undefined);
  assert.equal(idle.length, 0);
});
