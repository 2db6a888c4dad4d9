/** The context that records SVG: its shapes are those that a canvas would paint, texts stay texts, and unknown calls are errors. */

import assert from "node:assert/strict";
import test from "node:test";
import { escaped, recordSvg } from "../../static/js/render/svg_context.js";
import { markAs } from "../../static/js/render/marks.js";

/** What a recording asks of a real context: its state, dashes and sizes of texts. */
function realContext() {
  const kept = [];
  const ascents = { alphabetic: 9, middle: 3 };
  const state = { fillStyle: "#000000", strokeStyle: "#000000", globalAlpha: 1, lineWidth: 1, lineJoin: "miter", lineCap: "butt", lineDashOffset: 0, textAlign: "start", textBaseline: "alphabetic", font: '650 11px Inter, "DejaVu Sans", sans-serif', globalCompositeOperation: "source-over", dash: [] };
  return Object.assign(state, {
    save: () => kept.push({ ...state }),
    restore: () => Object.assign(state, kept.pop()),
    setLineDash: (dash) => (state.dash = dash),
    getLineDash: () => state.dash,
    measureText: (text) => ({ width: 6 * text.length, fontBoundingBoxAscent: ascents[state.textBaseline] }),
    drawImage() {},
  });
}

function recorded(draw) {
  const recording = recordSvg(/** @type {any} */ (realContext()), "c0");
  draw(recording.context);
  return recording.markup();
}

test("neighbours with the same mark are one group, whose class is the mark", () => {
  const svg = recorded((context) => {
    markAs(context, "rail");
    context.fillStyle = "rgba(10, 20, 30, 0.5)";
    context.fillRect(10, 5, -4, 2); // a negative width reaches to the left
    context.strokeRect(0, 0, 1, 1);
    markAs(context, "pin");
    context.fillRect(0, 0, 1.006, 1);
  });
  assert.equal(
    svg,
    '<g class="rail"><rect x="6" y="5" width="4" height="2" fill="rgb(10, 20, 30)" fill-opacity="0.5"/><rect x="0" y="0" width="1" height="1" fill="none" stroke="#000000" stroke-width="1"/></g>\n' +
      '<g class="pin"><rect x="0" y="0" width="1.01" height="1" fill="rgb(10, 20, 30)" fill-opacity="0.5"/></g>',
  );
});

test("an arc of more than a turn is a circle, any other the arc from its start clockwise", () => {
  const circle = recorded((context) => {
    context.beginPath();
    context.arc(10, 10, 5, 0, 7);
    context.fill();
  });
  assert.match(circle, /d="M15 10A5 5 0 0 1 5 10A5 5 0 0 1 15 10Z"/);
  const half = recorded((context) => {
    context.beginPath();
    context.arc(0, 0, 2, Math.PI / 2, -Math.PI / 2);
    context.fill();
  });
  assert.match(half, /d="M0 2A2 2 0 0 1 -2 0A2 2 0 0 1 0 -2"/);
});

test("texts stay texts on the alphabetic baseline, with the font's fallbacks", () => {
  const svg = recorded((context) => {
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText('a < "b" & c\u0007', 3, 4);
    context.fillText("", 3, 4);
    context.fillText(" d", 3, 4);
  });
  assert.equal(svg, '<g><text x="3" y="10" font-family="Inter, &quot;DejaVu Sans&quot;, sans-serif" font-size="11" font-weight="650" text-anchor="middle" fill="#000000">a &lt; &quot;b&quot; &amp; c</text>' + '<text x="3" y="10" font-family="Inter, &quot;DejaVu Sans&quot;, sans-serif" font-size="11" font-weight="650" text-anchor="middle" xml:space="preserve" fill="#000000"> d</text></g>');
  assert.equal(escaped("\u0000ok"), "ok");
});

test("a clip holds until restore, inside the clip before it", () => {
  const svg = recorded((context) => {
    for (const size of [9, 5]) {
      context.save();
      context.beginPath();
      context.rect(0, 0, size, size);
      context.clip();
    }
    context.fillRect(0, 0, 1, 1);
    context.restore();
    context.restore();
    context.fillRect(0, 0, 2, 2);
  });
  assert.match(svg, /<clipPath id="c0-clip-2" clip-path="url\(#c0-clip-1\)"><path d="M0 0L5 0 5 5 0 5Z"\/>/);
  assert.match(svg, /<g clip-path="url\(#c0-clip-2\)"><rect [^>]*width="1"[^>]*\/><\/g>\n<g><rect [^>]*width="2"/);
});

test("what is painted below everything comes first; dashes and transparency are kept", () => {
  const svg = recorded((context) => {
    context.fillRect(0, 0, 1, 1);
    context.globalCompositeOperation = "destination-over";
    context.globalAlpha = 0.4;
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(0, 0);
    context.bezierCurveTo(1, 2, 3, 4, 5, 6);
    context.stroke();
  });
  assert.match(svg, /^<g><path d="M0 0C1 2 3 4 5 6" fill="none" stroke="#000000" stroke-opacity="0.4" stroke-width="1" stroke-dasharray="2 3"\/><rect/);
});

test("a call that is not recorded is an error, not a gap in the picture", () => {
  assert.throws(() => recorded((context) => context.drawImage()), /drawImage/);
});
