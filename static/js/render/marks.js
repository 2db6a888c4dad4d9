/**
 * Names the mark that is being drawn, so that the legend can highlight one kind of mark in a picture.
 * Every drawing function of a picture calls `markAs` before it paints. A picture is drawn twice while a mark is chosen: as always, and
 * over a veil with only the chosen marks. `tests/js/legend.test.js` checks that nothing is painted without a mark that the legend has.
 */

/** Texts and axes explain themselves and have no item in a legend. */
export const SELF_EXPLAINING = ["text", "axis"];

const PAINTS = new Set(["fill", "stroke", "fillRect", "strokeRect", "fillText", "strokeText"]);
const VEIL = 0.82;

/**
 * @typedef {object} Chosen the item of the legend that is highlighted
 * @property {Set<string>} marks
 * @property {Object<string, number>} drawn by part of the picture the number of paint operations of these marks
 */

/** @param {any} context @param {string | null} kind of the mark that is painted from now on */
export function markAs(context, kind) {
  context.mark = kind;
}

/**
 * A context that paints the chosen marks only.
 * @param {CanvasRenderingContext2D} context
 * @param {Chosen} chosen
 * @param {string} part of the picture, under which the operations are counted
 * @returns {CanvasRenderingContext2D}
 */
export function onlyChosen(context, chosen, part) {
  let shown = false;
  chosen.drawn[part] = 0;
  const nothing = () => {};
  return new Proxy(context, {
    get(target, name) {
      if (PAINTS.has(String(name))) {
        if (!shown) return nothing;
        chosen.drawn[part] += 1;
      }
      const value = target[name];
      return typeof value === "function" ? value.bind(target) : value;
    },
    set(target, name, value) {
      if (name === "mark") shown = chosen.marks.has(value);
      target[name] = value;
      return true;
    },
  });
}

/**
 * Paints a picture and, if a mark is chosen, the chosen marks again over a veil.
 * @template T
 * @param {CanvasRenderingContext2D} context
 * @param {{width: number, height: number, ground: string, part: string, chosen: Chosen | null | undefined}} given
 * @param {(context: CanvasRenderingContext2D) => T} paint
 * @returns {T} the first painting's result
 */
export function paintWithChosen(context, { width, height, ground, part, chosen }, paint) {
  const result = paint(context);
  if (!chosen) return result;
  context.save();
  context.globalAlpha = VEIL;
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  context.restore();
  paint(onlyChosen(context, chosen, part));
  return result;
}
