/** The time slider: drag to an instant, jump from snapshot to snapshot. */

import { curveOf } from "../model/forecast.js";
import { seconds } from "../model/format.js";
import { marksOf } from "../model/marks.js";
import { PROTOCOLS, protocolOf } from "../protocols/table.js";
import { prepared } from "../render/canvas.js";
import { required } from "../render/dom.js";
import { glyph } from "../render/glyphs.js";
import { fontOf } from "../render/theme.js";

/**
 * Faults, failovers and ended snapshots of the whole branch, for the time slider; `welcome` names their types.
 * They are requested once per epoch, then the frames' rows are added. Frames leave out rows in fast playback, so after such a gap they
 * are requested again when playback is paused. A page that holds all rows of a branch requests nothing if the branch has not been
 * simulated beyond the instant shown.
 */

/** @returns {"completed" | "failed" | null} how the row ends a snapshot; null for other rows */
export const snapshotEnd = (row) => PROTOCOLS.map((protocol) => protocol.snapshotEnd?.(row)).find(Boolean) ?? null;

/** @param {{get: (path: string) => Promise<object>, base: string, onAnswer: () => void}} parts */
export function makeLandmarks({ get, base, onAnswer }) {
  let held = [];
  let branch = null;
  let asked = "";
  let seen = null;
  let complete_to = 0; // `held` contains every row of the branch before this seq

  function ask(key, shown) {
    asked = key;
    get(`${base}landmarks.json`)
      .then((answer) => {
        if (asked !== key || answer.branch !== shown) return;
        held = answer.rows;
        branch = shown;
        seen = null;
        complete_to = answer.seq;
        onAnswer();
      })
      .catch((reason) => console.info(`The time slider has no older marks: ${reason.message}`));
  }

  return {
    /** @returns {object[]} rows in ascending order, including those of the branch after the instant shown */
    of(state) {
      if (state.view.branch !== branch) {
        held = [];
        branch = state.view.branch;
        seen = null;
        complete_to = 0;
      }
      const epoch = `${state.view.branch}|${state.epoch}`;
      const gap = state.rows_from > complete_to;
      const key = gap && !state.playing ? `${epoch}|${state.view.seq}` : epoch;
      const begun = asked === epoch || asked.startsWith(`${epoch}|`);
      const all_here = state.rows[0]?.seq === 0 && state.at_us >= state.view.furthest_us;
      if (!all_here && (begun ? gap && key !== epoch && key !== asked : true)) ask(key, state.view.branch);
      if (!gap) complete_to = Math.max(complete_to, state.view.seq);
      if (state.rows !== seen) {
        seen = state.rows;
        const known = new Set(held.map((row) => row.seq));
        const added = state.rows.filter((row) => state.welcome.rows.landmarks.includes(row.type) && !known.has(row.seq));
        if (added.length) held = [...held, ...added].sort((one, other) => one.seq - other.seq); // a frame of the paused lab contains rows that earlier frames left out
      }
      return held;
    },
  };
}

/**
 * The time slider: the whole run with the risk curve, dots for snapshots, bars for duplicates, and marks for commands and faults.
 * The part of the run that was not simulated yet is marked. Dragging and arrow keys seek.
 */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {object} given width, ratio, end_us (right edge), furthest_us, now_us, marks, landmarks, points (of the risk curve), bursts (of duplicates)
 */
export function paintScrub(canvas, watched, theme, given) {
  const { width, ratio, end_us, furthest_us, now_us, marks } = given;
  const height = 34 * theme.scale;
  const context = prepared(canvas, width, height, ratio);
  const xAt = (us) => Math.min(1, us / Math.max(1, end_us)) * (width - 12) + 6;
  const base = height - 6 * theme.scale;
  context.fillStyle = theme.ink.line;
  context.fillRect(6, base - 0.5, width - 12, 1.5);
  paintCurve(context, watched, theme, { xAt, base, height, points: given.points });
  context.fillStyle = theme.ink.ink;
  context.fillRect(6, base - theme.rail / 2, xAt(Math.min(furthest_us, end_us)) - 6, theme.rail);
  paintSnapshots(context, theme, given.landmarks, watched, { xAt, base });
  paintBursts(context, theme, given.bursts, { xAt, base, now_us });
  paintMarks(context, theme, marks, { xAt, base, width });
  const last = marks.findLast((mark) => mark.at_us <= end_us);
  if (furthest_us < end_us * 0.9 && width > 600 && !(last && xAt(last.at_us) > width - 200 * theme.scale)) {
    context.font = fontOf(theme);
    context.fillStyle = theme.ink.ink3;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText("not run yet", width - 6, base - 10 * theme.scale);
  }
  context.fillStyle = theme.ink.ink;
  context.strokeStyle = theme.ink.bg;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(xAt(now_us), base, 5.5 * theme.scale, 0, 7);
  context.fill();
  context.stroke();
}

function paintCurve(context, watched, theme, { xAt, base, height, points }) {
  if (!watched?.curve?.peer) return;
  const { x, y } = curveOf(points, watched.curve.name, watched.curve.peer);
  if (x.length < 2) return;
  const top = Math.max(4, ...y);
  context.strokeStyle = theme.ink.harmSoft;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = 0; at < x.length; at++) {
    const px = xAt(x[at] * 1e6);
    const py = base - 4 - (y[at] / top) * (height - 18);
    if (at === 0) context.moveTo(px, py);
    else context.lineTo(px, py);
  }
  context.stroke();
}

/** Draws a light dot for each snapshot that the subject completed and a small cross for a failed one; dots that would overlap are left out. */
function paintSnapshots(context, theme, landmarks, watched, { xAt, base }) {
  let free = -Infinity;
  for (const row of landmarks) {
    const end = snapshotEnd(row);
    if (row.cluster !== watched?.subject || row.topic !== watched.topic || end === null) continue;
    const x = xAt(row.at_us);
    const failed = end === "failed";
    if (x < free && !failed) continue;
    free = x + 5 * theme.scale;
    if (failed) glyph(context, "cross", x, base + 4 * theme.scale, 2.2 * theme.scale, theme.ink.harm, theme.ink.bg);
    else {
      context.fillStyle = theme.ink.bg;
      context.beginPath();
      context.arc(x, base, 1.4 * theme.scale, 0, 7);
      context.fill();
    }
  }
}

/** Draws duplicates as bars on the line, higher for more of them; pale where they are after the instant shown. */
function paintBursts(context, theme, bursts, { xAt, base, now_us }) {
  for (const { from_us, until_us, count } of bursts) {
    const height = Math.min(11, 4 + 2 * Math.log10(count)) * theme.scale;
    context.fillStyle = from_us <= now_us ? theme.ink.harm : theme.ink.harmSoft;
    context.fillRect(xAt(from_us) - theme.scale, base - height, xAt(until_us) - xAt(from_us) + 2 * theme.scale, height);
  }
}

/** Draws a fault as a dotted stroke, a failover as a pennant, a repair as a short stroke, with labels where they fit. */
function paintMarks(context, theme, marks, { xAt, base, width }) {
  context.font = fontOf(theme, theme.label, 600);
  context.textAlign = "left";
  context.textBaseline = "middle";
  let free = 0;
  for (const mark of marks) {
    const x = xAt(mark.at_us);
    const top = base - (mark.kind === "healing" ? 9 : 20) * theme.scale;
    context.strokeStyle = context.fillStyle = mark.kind === "healing" ? theme.ink.ink2 : mark.done ? theme.ink.harm : theme.ink.harmSoft;
    context.lineWidth = 1.6;
    context.setLineDash(mark.kind === "fault" ? [2, 2] : []);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, base - 2);
    context.stroke();
    context.setLineDash([]);
    if (mark.kind === "failover") {
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x + 7 * theme.scale, top + 3.5 * theme.scale);
      context.lineTo(x, top + 7 * theme.scale);
      context.fill();
    }
    const wide = context.measureText(mark.text).width;
    const left = x + 11 * theme.scale; // a fault and a failover often share an instant: the label keeps clear of the pennant
    if (left < free || left + wide + 8 > width) continue;
    context.fillStyle = mark.kind === "healing" ? theme.ink.ink2 : theme.ink.harm;
    context.fillText(mark.text, left, base - 17 * theme.scale);
    free = left + wide + 10;
  }
}

/**
 * @param {HTMLElement} slider contains the canvas, has role slider
 * @param {{endUs: () => number, nowUs: () => number, onSeek: (at_us: number) => void, onNext?: () => void, onPrevious?: () => void}} on
 */
export function listenToScrub(slider, on) {
  let last_sent_ms = 0;
  const at = (event) => {
    const box = slider.getBoundingClientRect();
    return Math.max(0, Math.min(1, (event.clientX - box.left - 6) / (box.width - 12))) * on.endUs();
  };
  slider.addEventListener("pointerdown", (event) => {
    slider.setPointerCapture(event.pointerId);
    on.onSeek(at(event));
  });
  slider.addEventListener("pointermove", (event) => {
    if (!slider.hasPointerCapture(event.pointerId) || event.timeStamp - last_sent_ms < 80) return;
    last_sent_ms = event.timeStamp;
    on.onSeek(at(event));
  });
  slider.addEventListener("pointerup", (event) => {
    if (slider.hasPointerCapture(event.pointerId)) on.onSeek(at(event));
  });
  slider.addEventListener("keydown", (event) => {
    const step_us = event.shiftKey ? 1_000_000 : 100_000;
    const to = { ArrowRight: on.nowUs() + step_us, ArrowLeft: on.nowUs() - step_us, Home: 0, End: on.endUs(), PageUp: on.nowUs() + 1e6, PageDown: on.nowUs() - 1e6 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    on.onSeek(Math.max(0, to));
  });
}

/** @returns {string} for aria-valuetext */
export const scrubWords = (now_us) => `${seconds(now_us)} seconds`;

export function makeFooter(root, link, getState, getWatched, landmarks, risk_curve, bursts) {
  const slider = required(root, "[data-part=scrub]");
  const canvas = required(slider, "canvas");
  const endUs = () => Math.max(getState().welcome?.until_us ?? 0, getState().view?.furthest_us ?? 0, 1);
  listenToScrub(slider, { endUs, nowUs: () => getState().at_us, onSeek: (at_us) => link.seek(at_us) });
  let shown = "";

  function toSnapshot(direction) {
    const state = getState();
    const subject = getWatched()?.subject;
    const instants = landmarks.of(state).filter((row) => snapshotEnd(row) === "completed" && row.cluster === subject).map((row) => row.at_us);
    const wanted = direction < 0 ? Math.max(...instants.filter((us) => us < state.at_us), 0) : Math.min(...instants.filter((us) => us > state.at_us));
    if (Number.isFinite(wanted)) link.seek(wanted);
    else link.step("control");
  }

  return {
    acts: {
      nextSnapshot: () => toSnapshot(1),
      previousSnapshot: () => toSnapshot(-1),
    },
    update(state, watched, theme, now_us, ratio, wall_ms) {
      const width = slider.clientWidth;
      const rows = landmarks.of(state);
      const points = risk_curve.points(state, 0, Infinity, wall_ms);
      const harm = bursts.of(state, watched, wall_ms);
      const key = [risk_curve.version(), bursts.version(), watched.subscription, watched.group, rows.length, now_us, state.epoch, state.number, width, theme.ink.bg, theme.scale, watched.target, ratio].join("|");
      if (key === shown) return;
      shown = key;
      paintScrub(canvas, watched, theme, { width, ratio, end_us: endUs(), furthest_us: Math.max(now_us, state.view.furthest_us), now_us, marks: marksOf(state, rows, protocolOf(state).marks), landmarks: rows, points, bursts: harm });
      slider.setAttribute("aria-valuemax", String(Math.round(endUs() / 1000)));
      slider.setAttribute("aria-valuenow", String(Math.round(now_us / 1000)));
      slider.setAttribute("aria-valuetext", scrubWords(now_us));
    },
  };
}
