/** The table of the curve of “When inevitable?”, and what is offered for a chosen point. */

import { moreWords, pointWords, shareWords, worstWords } from "../model/inevitable.js";
import { seconds, whole } from "../model/format.js";
import { element } from "./dom.js";
import { columnHeads } from "./terms.js";

/** @param {Document} document @param {any} answer @param {(at_us: number) => void} onChoose */
export function inevitableTable(document, { points, more_than }, onChoose) {
  const rows = points.map((point) =>
    element(document, "tr", {}, [
      element(document, "th", { scope: "row" }, [element(document, "button.plain", { type: "button", "aria-label": `Go to ${seconds(point.at_us)} s`, text: `${seconds(point.at_us)} s`, onclick: () => onChoose(point.at_us) })]),
      element(document, "td", { text: shareWords(point.more) }),
      element(document, "td", { text: shareWords(point.loss) }),
      element(document, "td", { text: point.duplicates.map(whole).join(", ") }),
      element(document, "td", { text: whole(point.runs) }),
    ]),
  );
  const heads = columnHeads(document, [{ name: "instant" }, { name: moreWords(more_than) }, ["a message lost", "lost"], ["least, median, most duplicates", "duplicates"], { name: "re-runs" }]);
  const head = element(document, "tr", {}, heads);
  return element(document, "details", { open: true }, [
    element(document, "summary", { text: "Table of the curve" }),
    element(document, "div.scrolls", { tabindex: 0, role: "region", "aria-label": "Table of probabilities" }, [element(document, "table", {}, [element(document, "caption", { text: "Probability, with its 95 % interval (Wilson)" }), element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)])]),
  ]);
}

/** @param {Document} document @param {string} base @param {any} answer @param {import("../model/inevitable.js").CurvePoint} point @param {number} branch */
export function pointParts(document, base, answer, point, branch) {
  const fields = { key: point.key, at_us: answer.failures[answer.failure].at_us };
  const open = element(document, "form", { method: "post", action: `${base}variants/`, target: "_blank" }, [
    ...Object.entries(fields).map(([name, value]) => element(document, "input", { type: "hidden", name, value })),
    element(document, "button.plain", { type: "submit", text: "open as a lab" }),
  ]);
  const beside = element(document, "a", { href: `${base}beside/?left=branch-${branch}&right=${point.key}`, text: "compare with this run" });
  return [element(document, "p", { text: pointWords(point, answer.more_than) }), element(document, "p", {}, [worstWords(point), " ", open, " ", beside])];
}
