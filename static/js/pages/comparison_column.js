/** One column of a comparison: its figure, its picture with the same as text, its curve, and the button that opens the lab. */

import { duplicatesIn, figureOf, figuresAt } from "../model/comparison.js";
import { counted, whole } from "../model/format.js";
import { paintCurve } from "../render/comparison_curve.js";
import { paintLanes } from "../render/comparison_lanes.js";
import { required, setText } from "../render/dom.js";

/**
 * @param {{root: HTMLElement}} page
 * @param {import("../model/comparison.js").Column} column
 * @param {{most: number, open: (column: object) => void}} given most: messages that fit into a picture's width
 */
export function makeColumn({ root }, column, { most, open }) {
  const section = required(root, `[data-column="${column.strategy}"]`);
  const [figure, words] = ["figure", "words"].map((name) => required(section, `[data-part=${name}]`));
  const [lanes, curve] = [required(section, "canvas[data-part=lanes]"), required(section, "canvas[data-part=curve]")];
  const number = required(figure, "b");
  const unit = required(figure, "span");
  const button = required(section, "[data-act=open]");
  const { from, to } = column.followed;
  const clusters = [...new Set([...column.followed.messages.origin, from, to])].sort();
  lanes.hidden = curve.hidden = false;
  section.classList.remove("missing");
  button.hidden = !column.text;
  button.onclick = () => open(column);

  return {
    paint(given) {
      const now = figuresAt(column, given.at_us);
      const duplicates = figureOf(now);
      setText(number, whole(duplicates));
      setText(unit, !now.moved ? "forecast duplicates" : now.open ? "duplicates at least, still delivering at the end" : "duplicates");
      figure.className = duplicates === 0 ? "figure" : "figure harm";
      const width = section.clientWidth;
      paintLanes(lanes, column, { ...given, width, most, clusters });
      if (curve.offsetParent) paintCurve(curve, column, { ...given, width });
    },
    write(at_us) {
      const sentence = wordsOf(column, at_us);
      setText(words, sentence);
      lanes.setAttribute("aria-label", `${column.title}: ${sentence}`);
    },
  };
}

/** A strategy without this failover: shows the reason in place of the picture. */
export function writeMissing({ root }, column, why) {
  const section = required(root, `[data-column="${column.strategy}"]`);
  setText(required(section, "[data-part=figure] b"), "–");
  setText(required(section, "[data-part=figure] span"), "no failover");
  setText(required(section, "[data-part=words]"), why);
  section.classList.add("missing");
  for (const name of ["lanes", "curve"]) required(section, `[data-part=${name}]`).hidden = true;
}

/** Describes the picture in a sentence or two. */
export function wordsOf(column, at_us) {
  const { from, to } = column.followed;
  const now = figuresAt(column, at_us);
  const known = `${counted(now.acknowledged, "message")} acknowledged, ${whole(now.replicated)} of them also in ${to}${now.moved ? " at the failover" : ""}.`;
  if (!now.moved) return `${known} A failover from ${from} now would deliver ${duplicatesIn(now)}.`;
  return `${known} Since the failover: ${duplicatesIn(now)}${now.redelivered ? `, ${whole(now.redelivered)} redelivered that had not been acknowledged` : ""}.`;
}
