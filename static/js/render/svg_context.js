/**
 * A 2D context that records what is drawn as SVG: paths, rectangles and texts, which stay texts.
 * A real context keeps the state (colours, fonts, dashes) and measures texts, so that both draw with the same values. Only the calls that the
 * diagrams use are recorded; any other call is an error, so that nothing is silently missing. Transformations are not recorded: a diagram draws
 * in CSS px, and the only one is the device's pixel ratio. `docs/dependencies.md` says why this is not a library.
 */

const TURN = 2 * Math.PI;
const ANCHORS = { left: "start", start: "start", center: "middle", right: "end", end: "end" };
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** @param {unknown} text @returns {string} for an attribute or the text of an element; without control characters, which XML does not allow */
export const escaped = (text) => [...String(text)].filter((sign) => sign >= " ").join("").replace(/[&<>"]/g, (sign) => ESCAPES[sign]);

/** @param {number} value px @returns {string} */
export const px = (value) => String(Math.round(value * 100) / 100);

/** @param {Object<string, string | number | null>} given attributes; null is left out @returns {string} */
const attributes = (given) => Object.entries(given).filter(([, value]) => value !== null).map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");

/**
 * @typedef {object} Recording
 * @property {CanvasRenderingContext2D} context draws into the recording
 * @property {() => string} markup the elements, in groups whose class is the kind of mark (`render/marks.js`)
 * @property {() => boolean} begun whether something was drawn, if only nothing
 */

/**
 * @param {CanvasRenderingContext2D} real of a canvas that nothing else uses
 * @param {string} name begins the ids in this recording
 * @returns {Recording}
 */
export function recordSvg(real, name) {
  const shapes = [];
  const clips = [];
  const state = { clip: null, kept: [], begun: false };
  const path = makePath();
  const baseline = makeBaseline(real);

  function add(tag, given, text = null) {
    const shape = { mark: /** @type {any} */ (real).mark ?? "", clip: state.clip, text: `<${tag}${attributes(given)}${text === null ? "/>" : `>${escaped(text)}</${tag}>`}` };
    if (real.globalCompositeOperation === "destination-over") shapes.unshift(shape); // below everything
    else shapes.push(shape);
  }
  function clip() {
    clips.push(`<clipPath id="${name}-clip-${clips.length + 1}"${attributes({ "clip-path": state.clip })}><path d="${path.d()}"/></clipPath>`);
    state.clip = `url(#${name}-clip-${clips.length})`;
  }
  const write = (text, x, y, paint) => text !== "" && add("text", { x: px(x), y: px(y + baseline()), ...fontOf(real), "text-anchor": notDefault(ANCHORS[real.textAlign], "start"), "xml:space": /^ | $| {2}/.test(text) ? "preserve" : null, ...paint }, text);
  const calls = {
    ...path.calls,
    save: () => (real.save(), state.kept.push(state.clip)),
    restore: () => (real.restore(), (state.clip = state.kept.pop() ?? null)),
    clip,
    fill: () => add("path", { d: path.d(), ...fillOf(real) }),
    stroke: () => add("path", { d: path.d(), ...strokeOf(real) }),
    fillRect: (x, y, width, height) => add("rect", { ...boxOf(x, y, width, height), ...fillOf(real) }),
    strokeRect: (x, y, width, height) => add("rect", { ...boxOf(x, y, width, height), ...strokeOf(real) }),
    fillText: (text, x, y) => write(String(text), x, y, fillOf(real)),
    strokeText: (text, x, y) => write(String(text), x, y, strokeOf(real)),
    reset: () => (real.reset(), (state.begun = true)), // a drawing begins with it, and a recording is empty then
    setTransform: () => {}, // the device's pixel ratio
    measureText: (text) => real.measureText(text),
    setLineDash: (dash) => real.setLineDash(dash),
    getLineDash: () => real.getLineDash(),
  };
  return { context: contextOf(real, calls), markup: () => (clips.length ? `<defs>${clips.join("")}</defs>` : "") + grouped(shapes), begun: () => state.begun || shapes.length > 0 };
}

/** @returns {any} a context whose methods are `calls` and whose properties are those of the real one */
function contextOf(real, calls) {
  return new Proxy(real, {
    get(target, key) {
      if (Object.hasOwn(calls, key)) return calls[key];
      if (typeof target[key] === "function") throw new Error(`An SVG has no recording of the call “${String(key)}” of a canvas.`);
      return target[key];
    },
    set(target, key, value) {
      target[key] = value;
      return true;
    },
  });
}

/** Neighbours with the same mark and clip are one group. */
function grouped(shapes) {
  const groups = [];
  for (const { mark, clip, text } of shapes) {
    const last = groups.at(-1);
    if (last && last.mark === mark && last.clip === clip) last.texts.push(text);
    else groups.push({ mark, clip, texts: [text] });
  }
  return groups.map(({ mark, clip, texts }) => `<g${attributes({ class: mark || null, "clip-path": clip })}>${texts.join("")}</g>`).join("\n");
}

/** Records the calls that build a path. */
function makePath() {
  let steps = [];
  const go = (letter, ...numbers) => steps.push(letter + numbers.map(px).join(" "));
  const lineTo = (x, y) => go(steps.length ? "L" : "M", x, y);

  function arc(x, y, radius, from, to, anticlockwise = false) {
    const at = (angle) => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    const turn = anticlockwise ? from - to : to - from;
    const swept = turn >= TURN ? TURN : ((turn % TURN) + TURN) % TURN;
    const sign = anticlockwise ? -1 : 1;
    lineTo(...at(from));
    // two arcs: one alone cannot be a whole circle
    for (const share of [0.5, 1]) go("A", radius, radius, 0, 0, anticlockwise ? 0 : 1, ...at(from + sign * swept * share));
    if (swept === TURN) go("Z");
  }
  function rect(x, y, width, height) {
    go("M", x, y);
    go("L", x + width, y, x + width, y + height, x, y + height);
    go("Z");
  }
  function roundRect(x, y, width, height, radius) {
    const r = Math.max(0, Math.min(radius, width / 2, height / 2));
    go("M", x + r, y);
    for (const [to_x, to_y, by_x, by_y] of [[x + width - r, y, r, r], [x + width, y + height - r, -r, r], [x + r, y + height, -r, -r], [x, y + r, r, -r]]) {
      go("L", to_x, to_y);
      go("A", r, r, 0, 0, 1, to_x + by_x, to_y + by_y);
    }
    go("Z");
  }

  return {
    d: () => steps.join(""),
    calls: {
      beginPath: () => (steps = []),
      closePath: () => steps.length && go("Z"),
      moveTo: (x, y) => go("M", x, y),
      lineTo,
      bezierCurveTo: (...points) => go("C", ...points),
      arc,
      rect,
      roundRect,
    },
  };
}

const notDefault = (value, usual) => (value === usual ? null : value);

/** A rectangle; a canvas accepts negative sizes. */
const boxOf = (x, y, width, height) => ({ x: px(Math.min(x, x + width)), y: px(Math.min(y, y + height)), width: px(Math.abs(width)), height: px(Math.abs(height)) });

/** @returns {[colour: string, opacity: string | null]} of "#rrggbb" or "rgba(r, g, b, a)"; readers of SVG other than browsers know no rgba */
function colourOf(text, alpha) {
  const found = /^rgba\((.+), ([\d.]+)\)$/.exec(text);
  const opacity = alpha * (found ? Number(found[2]) : 1);
  return [found ? `rgb(${found[1]})` : text, opacity < 1 ? px(opacity) : null];
}

function fillOf(real) {
  const [fill, opacity] = colourOf(real.fillStyle, real.globalAlpha);
  return { fill, "fill-opacity": opacity };
}

function strokeOf(real) {
  const [stroke, opacity] = colourOf(real.strokeStyle, real.globalAlpha);
  const dash = real.getLineDash();
  return {
    fill: "none",
    stroke,
    "stroke-opacity": opacity,
    "stroke-width": px(real.lineWidth),
    "stroke-linejoin": notDefault(real.lineJoin, "miter"),
    "stroke-linecap": notDefault(real.lineCap, "butt"),
    "stroke-dasharray": dash.length ? dash.map(px).join(" ") : null,
    "stroke-dashoffset": real.lineDashOffset ? px(real.lineDashOffset) : null,
  };
}

/** The font as attributes; the family is a list that ends in a generic name. */
function fontOf(real) {
  const [, before, size, family] = /^(.*?)([\d.]+)px (.*)$/.exec(real.font);
  return { "font-family": family, "font-size": px(Number(size)), "font-weight": /\b(bold|\d+)\b/.exec(before)?.[0] ?? null, "font-style": /\bitalic\b/.exec(before)?.[0] ?? null };
}

/**
 * How far the alphabetic baseline is below the context's baseline. SVG's names of other baselines mean other heights, and few programs know them.
 * @returns {() => number} px, of the context's present font and baseline
 */
function makeBaseline(real) {
  const known = new Map();
  return () => {
    const { font, textBaseline } = real;
    if (textBaseline === "alphabetic") return 0;
    const key = `${textBaseline} ${font}`;
    if (!known.has(key)) {
      const above = real.measureText("x").fontBoundingBoxAscent;
      real.textBaseline = "alphabetic";
      known.set(key, real.measureText("x").fontBoundingBoxAscent - above);
      real.textBaseline = textBaseline;
    }
    return known.get(key);
  };
}
