/** The time slider: drag to an instant, jump from snapshot to snapshot. */

import { listenToScrub, paintScrub, scrubWords } from "../render/scrub.js";
import { snapshotEnd } from "../model/landmarks.js";
import { marksOf } from "../model/marks.js";
import { protocolOf } from "../protocols/table.js";
import { required } from "../render/dom.js";

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
