/**
 * Draws the row of dots of one figure: a button for each run at its value, and a line at the median.
 * The row is one tab stop; the arrow keys move in the order of the values.
 */

import { NOT_BY_THE_END, shortSpan, spreadOf, valueWords } from "../model/answer.js";
import { dotPlaces } from "../layout/dots.js";
import { halves } from "../model/format.js";
import { element } from "./dom.js";
import { termLink } from "./terms.js";

/** px between the centres of neighbouring dots */
const DOT_PX = 12;
/** Higher stacks are compressed. */
const HIGHEST_PX = 66;

/**
 * @param {Document} document
 * @param {object} figure of `FIGURES`
 * @param {object[]} runs
 * @param {{width: number, chosen: number | null, onLook: (seed: number | null) => void, onOpen: (seed: number) => void, wordsOf: (run: object) => string}} given
 */
export function dotPlot(document, figure, runs, { width, chosen, onLook, onOpen, wordsOf }) {
  const values = runs.map((run) => run[figure.name] ?? null);
  const { low, high, height, dots } = dotPlaces(values, { width, dot: DOT_PX, highest: HIGHEST_PX });
  const field = element(document, "div.field");
  field.style.height = `${height + 6}px`;
  const order = runs.map((run, place) => ({ run, place })).filter(({ place }) => dots[place]).sort((one, other) => dots[one.place].along - dots[other.place].along || dots[one.place].up - dots[other.place].up);
  const stop = order.find(({ run }) => run.seed === chosen) ?? order[0];
  for (const { run, place } of order) {
    const button = element(document, figure.harm ? "button.dot.harm" : "button.dot", {
      type: "button",
      tabindex: run === stop.run ? 0 : -1,
      "data-seed": run.seed,
      "aria-label": `${wordsOf(run)} Opens as a lab.`,
      onclick: () => onOpen(run.seed),
      onfocus: () => onLook(run.seed),
      onpointerenter: () => onLook(run.seed),
    });
    button.style.left = `${dots[place].along}px`;
    button.style.bottom = `${dots[place].up + 3}px`;
    field.append(button);
  }
  field.addEventListener("keydown", (event) => walk(event, field));
  const spread = spreadOf(runs, figure.name);
  if (spread && high > low) {
    const line = element(document, "i.median");
    line.style.left = `${middleOf({ ...spread, low, high }, width)}px`;
    field.append(line);
  }
  const axis = axisOf(document, figure, spread && { ...spread, low, high }, width);
  return element(document, "div.plot", { role: "group", "aria-label": `${figure.says}, ${runs.length} runs` }, [element(document, "h3", {}, [termLink(document, figure.says)]), field, axis]);
}

/** Position of the median, px from the left. */
const middleOf = ({ low, high, median }, width) => ((median - low) / (high - low)) * (width - DOT_PX) + DOT_PX / 2;

/** Width of a character of a label, at most, and the gap between two labels, px. */
const CHARACTER_PX = 8;
const GAP_PX = 10;

function axisOf(document, figure, spread, width) {
  if (!spread) return element(document, "p.axis.same", {}, [element(document, "span", { text: NOT_BY_THE_END })]);
  const { low, high, median } = spread;
  const low_words = element(document, "span", { text: valueWords(figure, low) });
  if (low === high) return element(document, "p.axis.same", {}, [low_words]);
  const words = element(document, "b", { text: `median ${medianWords(figure, median)}` });
  const high_words = element(document, "span", { text: valueWords(figure, high) });
  const character_px = CHARACTER_PX * (Number.parseFloat(document.defaultView.getComputedStyle(document.documentElement).getPropertyValue("--scale")) || 1);
  const apart = (end) => character_px * (words.textContent.length / 2 + end.textContent.length) + GAP_PX;
  words.style.left = `${Math.min(Math.max(middleOf(spread, width), apart(low_words)), width - apart(high_words))}px`;
  return element(document, "p.axis", {}, [low_words, words, high_words]);
}

const medianWords = (figure, median) => (figure.name.endsWith("_us") ? shortSpan(median) : halves(median));

const STEPS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

function walk(event, field) {
  const dots = [...field.querySelectorAll(".dot")];
  const at = dots.indexOf(event.target);
  const next = event.key === "Home" ? dots[0] : event.key === "End" ? dots.at(-1) : STEPS[event.key] ? dots[at + STEPS[event.key]] : null;
  if (event.key in STEPS || event.key === "Home" || event.key === "End") event.preventDefault();
  next?.focus();
}
