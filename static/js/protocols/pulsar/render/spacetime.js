/**
 * Draws the space-time diagram: one line per cluster, and markers as slanted arrows between them.
 * Messages are drawn only as part of a highlighted cone.
 */

import { span } from "../../../model/format.js";
import { shortName } from "../model/snapshot_names.js";
import { BINS, markerCluster } from "../model/snapshots.js";
import { arrowHead, paintCone } from "../../../render/cone.js";
import { glyph } from "../../../render/glyphs.js";
import { markAs } from "../../../render/marks.js";
import { fontOf } from "../../../render/theme.js";

/**
 * Draws markers between the lines of the clusters: each hop is a slanted arrow from its sender to its receiver.
 * The second round of a snapshot has a heavier stroke than the first. A lost marker ends in a cross halfway, a delayed one is dashed. A
 * window with too many markers is drawn as bars of counts per cluster.
 */

const FAINT = 0.42;
const UNLIT = 0.22;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state
 * @param {import("../model/snapshots.js").Passages} passages
 * @param {object} given xAt, yAt, x0, x1, lanes, now_us, watched, lit
 * @returns {{kind: "marker", number: number, x: number, y: number}[]} positions that can be clicked
 */
export function paintPassages(context, state, passages, theme, given) {
  if (passages.bins) {
    paintBars(context, passages, theme, given);
    return [];
  }
  const glyphs = [];
  for (const marker of passages.markers) {
    const is_own = markerCluster(state, marker) === given.watched.subject;
    const lit = given.lit?.markers.has(marker.number) ?? false;
    const ink = is_own || lit ? theme.ink.proto : theme.ink.strong;
    context.strokeStyle = ink;
    context.fillStyle = ink;
    context.globalAlpha = lit ? 1 : given.lit ? UNLIT : is_own ? 1 : FAINT;
    context.lineWidth = (marker.round === 2 ? 2.2 : 1.1) * (lit ? 1.3 : 1) * theme.scale;
    for (const hop of marker.hops) {
      markAs(context, is_own || lit ? (hop.delayed ? "time-marker-delayed" : "time-marker") : "time-marker-other");
      paintHop(context, theme, marker, hop, given);
    }
    if (is_own || lit) glyphs.push(...glyphsOf(marker, given, lit));
  }
  context.globalAlpha = 1;
  const size = Math.max(0.55, Math.min(1, ((given.x1 - given.x0) / Math.max(1, glyphs.length)) * 0.16)) * theme.scale;
  markAs(context, "time-marker");
  return glyphs.map((one) => {
    context.globalAlpha = one.lit || !given.lit ? 1 : FAINT;
    glyph(context, one.marker.kind, one.x, one.y, (one.arrived ? 3.1 : 4.2) * size, theme.ink.proto, theme.ink.bg);
    context.globalAlpha = 1;
    return { kind: "marker", number: one.marker.number, x: one.x, y: one.y };
  });
}

function glyphsOf(marker, { xAt, yAt, x0, x1, lanes, now_us }, lit) {
  const made = [];
  const inside = (x) => x >= x0 && x <= x1;
  if (inside(xAt(marker.written_us))) made.push({ marker, x: xAt(marker.written_us), y: yAt(marker.cluster), arrived: false, lit });
  for (const hop of marker.hops) {
    if (hop.stored_us === null || hop.stored_us > now_us || !lanes.includes(hop.to) || !inside(xAt(hop.stored_us))) continue;
    made.push({ marker, x: xAt(hop.stored_us), y: yAt(hop.to), arrived: true, lit });
  }
  return made;
}

function paintHop(context, theme, marker, hop, { xAt, yAt, lanes, now_us }) {
  const begin_us = hop.sent_us ?? marker.written_us;
  if (!lanes.includes(hop.to) || begin_us > now_us) return;
  const y0 = yAt(marker.cluster);
  const y1 = yAt(hop.to);
  const landed = hop.stored_us !== null && hop.stored_us <= now_us;
  const lost = hop.lost_us !== null && hop.lost_us <= now_us;
  const end_us = Math.min(hop.stored_us ?? hop.lost_us ?? now_us, now_us);
  // a marker in flight is drawn as far as it has come; halfway while its arrival is not known
  const share = landed ? 1 : hop.stored_us === null ? 0.5 : (now_us - begin_us) / Math.max(1, hop.stored_us - begin_us);
  const x = xAt(begin_us);
  const to = { x: xAt(end_us), y: y0 + (y1 - y0) * share };
  context.setLineDash(hop.delayed ? [5, 3] : []);
  context.beginPath();
  context.moveTo(x, y0);
  context.lineTo(to.x, to.y);
  context.stroke();
  context.setLineDash([]);
  if (landed) arrowHead(context, theme, { x, y: y0 }, to);
  if (!lost) return;
  markAs(context, "time-marker-lost");
  glyph(context, "cross", to.x, to.y, 3.6 * theme.scale, theme.ink.harm, theme.ink.bg);
}

/** Draws bars over each cluster's line, with the number of markers that it sent; the dark part is updates, a cross means that some were lost. */
function paintBars(context, { bins, from_us }, theme, { xAt, yAt, x0, x1, lanes, now_us }) {
  markAs(context, "time-bars");
  const sent = lanes.map((cluster) => leavingOf(bins, cluster));
  const most = Math.max(1, ...sent.flatMap((one) => one.all));
  const room = 22 * theme.scale;
  sent.forEach(({ all, updates, lost }, lane) => {
    const base = yAt(lanes[lane]);
    for (let bin = 0; bin < all.length; bin++) {
      const begin_us = from_us + bin * bins.width_us;
      if (begin_us > now_us) break;
      const x = Math.max(x0, xAt(begin_us));
      const width = Math.min(x1, xAt(begin_us + bins.width_us)) - x;
      if (width <= 0) continue;
      const bar = (number, ink) => {
        const height = (number / most) * room;
        context.fillStyle = ink;
        context.fillRect(x, base - height, Math.max(0.8, width - 0.8), height);
      };
      bar(all[bin], theme.ink.soft);
      bar(updates[bin], theme.ink.proto);
      if (lost[bin]) glyph(context, "cross", x + width / 2, base + 4 * theme.scale, 2.4 * theme.scale, theme.ink.harm, theme.ink.bg);
    }
  });
}

/** Numbers per bin of all markers that a cluster sent. */
function leavingOf(bins, cluster) {
  const of = (lists) => lists.reduce((sum, numbers) => sum.map((one, at) => one + numbers[at]), new Array(BINS).fill(0));
  const links = Object.entries(bins.counts).filter(([name]) => name.startsWith(`${cluster} -> `));
  const lost = Object.entries(bins.lost).filter(([name]) => name.startsWith(`${cluster} -> `));
  return {
    all: of(links.flatMap(([, kinds]) => Object.values(kinds))),
    updates: of(links.flatMap(([, kinds]) => (kinds.subscription_update ? [kinds.subscription_update] : []))),
    lost: of(lost.map(([, numbers]) => numbers)),
  };
}

/**
 * @param {CanvasRenderingContext2D} context clipped to the window
 * @param {any} room see `paintTime`, with passages and lit
 * @returns {{kind: "marker", number: number, x: number, y: number}[]} positions that can be clicked
 */
export function paintSpacetime(context, state, watched, theme, room) {
  const { xAt, yAt, lanes, now_us, passages, lit } = room;
  paintWorldLines(context, state, watched, theme, room);
  const places = paintPassages(context, state, passages, theme, { ...room, watched });
  if (!passages.bins) paintSpans(context, state, passages.snapshots, watched, theme, room);
  markAs(context, null);
  if (lit) paintCone(context, lit, theme, (row) => (row.at_us <= now_us && lanes.includes(row.cluster) ? { x: xAt(row.at_us), y: yAt(row.cluster), lane: row.cluster } : null));
  return places;
}

function paintWorldLines(context, state, watched, theme, { lanes, xAt, yAt, x0, x1, now_us }) {
  markAs(context, "time-region");
  for (const cluster of lanes) {
    const down = state.view?.clusters[cluster]?.state !== "up";
    context.strokeStyle = down ? theme.ink.harm : theme.ink.strong;
    context.setLineDash(down ? [2, 4] : []);
    context.lineWidth = cluster === watched.subject ? 1.6 : 1;
    context.beginPath();
    context.moveTo(x0, yAt(cluster));
    context.lineTo(Math.min(x1, Math.max(x0, xAt(now_us))), yAt(cluster));
    context.stroke();
    context.setLineDash([]);
  }
}

/** Draws a bracket over each of the subject's snapshots, from the first request to the last response; a notch separates the two rounds. */
function paintSpans(context, state, snapshots, watched, theme, { xAt, x0, x1, now_us, lit }) {
  const y = 14 * theme.scale;
  markAs(context, "time-snapshot");
  let free = -Infinity;
  for (const snapshot of snapshots) {
    if (snapshot.cluster !== watched.subject || snapshot.asked_us > now_us) continue;
    const pending = snapshot.ended_us === null || snapshot.ended_us > now_us;
    const from = Math.max(x0, xAt(snapshot.asked_us));
    const to = Math.min(x1, xAt(pending ? now_us : snapshot.ended_us));
    if (to < x0 || from > x1) continue;
    const failed = !pending && (snapshot.state === "timed-out" || snapshot.state === "abandoned");
    context.strokeStyle = context.fillStyle = failed ? theme.ink.harm : theme.ink.proto;
    context.globalAlpha = lit && !lit.snapshots.has(snapshot.number) ? 0.4 : 1;
    context.lineWidth = 1.2;
    context.setLineDash(pending ? [2, 2] : []);
    context.beginPath();
    context.moveTo(from, y + 5);
    context.lineTo(from, y);
    context.lineTo(to, y);
    if (!pending) context.lineTo(to, y + 5);
    context.stroke();
    context.setLineDash([]);
    const second = snapshot.second_us !== null && snapshot.second_us <= now_us ? xAt(snapshot.second_us) : null;
    if (second !== null && second > x0) context.fillRect(second - 0.6, y - 3, 1.2, 8);
    free = spanWords(context, state, theme, snapshot, { from, to, second, y, free, pending, failed });
    context.globalAlpha = 1;
  }
}

/** Writes "S14 300 ms" over the bracket, and the numbers of the rounds in it where they fit. */
function spanWords(context, state, theme, snapshot, { from, to, second, y, free, pending, failed }) {
  context.textAlign = "left";
  const name = shortName(state, snapshot.number);
  const rest = failed ? ` ${snapshot.state.replace("-", " ")}` : pending ? "" : ` ${span(snapshot.ended_us - snapshot.asked_us)}`;
  context.font = fontOf(theme, theme.label, 650);
  const bold = context.measureText(name).width;
  context.font = fontOf(theme);
  const all = bold + context.measureText(rest).width;
  const long = to - from > bold - 8 || free < from - 24;
  if (from >= free && long) {
    context.font = fontOf(theme, theme.label, 650);
    context.fillText(name, from, y - 8 * theme.scale);
    context.font = fontOf(theme);
    if (from + all < Math.max(to, from + bold) + 60) context.fillText(rest, from + bold, y - 8 * theme.scale);
    free = from + all + 10;
  }
  if (second !== null && second - from > 16 && to - second > 16) {
    context.font = fontOf(theme, theme.label - 1, 600);
    context.textAlign = "center";
    context.fillText("1", (from + second) / 2, y + 6.5 * theme.scale);
    context.fillText("2", (second + to) / 2, y + 6.5 * theme.scale);
  }
  return free;
}
