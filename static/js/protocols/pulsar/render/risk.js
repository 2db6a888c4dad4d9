/** The table of figures: duplicates, redelivered, not replicated and lost, per possible target now and for the last failover. */

import { latestFailover } from "../model/sentence.js";
import { seconds, span, whole } from "../../../model/format.js";
import { element, required } from "../../../render/dom.js";
import { headCell, renew } from "../../../render/terms.js";
import { listenToZeroRows, withZeroRows } from "../../../render/zero_rows.js";

/** Unread messages that have not reached the target; harm once their region is down, as in the headline. */
const MISSING = "stranded_missing";

/** Only duplicates and lost messages are marked: what is not replicated is on the way while the region is up. */
const FORECAST_LINES = [
  ["duplicates", "duplicates", "duplicates"],
  ["redelivered", "redeliveries", null],
  ["not replicated", "stranded", null],
  ["of these unread", "stranded_unprocessed", null],
  ["lost", "lost", "lost"],
];

/** @type {[name: string, say: (over: any) => string, harm: string | null][]} harm: the figure that marks the line */
const FAILOVER_LINES = [
  ["duplicates", (one) => whole(one.duplicates ?? 0), "duplicates"],
  ["redelivered", (one) => whole(one.redeliveries ?? 0), null],
  ["still to be delivered again", (one) => whole(one.pending_repeats ?? 0), null],
  ["not replicated", (one) => whole(one.stranded ?? 0), null],
  ["of these unread", (one) => whole(one.stranded_unprocessed ?? 0), MISSING],
  ["of these replicated later", (one) => whole(one.stranded_returned ?? 0), null],
  ["lost", (one) => whole(one.lost ?? 0), "lost"],
  ["delivery gap", (one) => (one.outage_us === null || one.outage_us === undefined ? "–" : one.outage_us ? span(one.outage_us) : "0 ms"), null],
  ["backlog of the failover acked at", (one) => (one.drained_us === null || one.drained_us === undefined ? "not yet" : `${seconds(one.drained_us)} s`), null],
];

/** The figure that is shown even when it is 0, because it answers the page's question. */
const ALWAYS = "duplicates";

/** Rows that count a part of the row above. */
const PARTS = new Set(["of these unread", "of these replicated later"]);

export function makeRisk(document, root) {
  const box = required(root, "[data-part=risk]");
  let shown = "";
  listenToZeroRows(box);
  return {
    update(state, watched) {
      if (!state.view || !watched) return;
      const over = latestFailover(state, watched.subscription);
      const known = state.view.forecast?.[watched.subscription];
      const forecast = known && Object.keys(known.to).length ? known : null;
      const down = over !== null && state.view.clusters[over.from]?.state !== "up";
      const key = JSON.stringify([over, down, forecast, watched.target]);
      if (key === shown) return;
      shown = key;
      renew(box, [over && failoverTable(document, over, down), forecast && forecastTable(document, forecast, watched)].filter(Boolean));
      box.hidden = !over && !forecast;
    },
  };
}

function forecastTable(document, forecast, watched) {
  const { peers } = watched;
  const head = element(document, "tr", {}, [
    headCell(document, "col", [`If ${forecast.from} failed now`, "forecast"]),
    ...peers.map((peer) => headCell(document, "col", { name: peer }, peer === watched.target ? ".on" : "")),
  ]);
  const rows = FORECAST_LINES.map(([name, field, harm]) => ({
    row: lineOf(document, name, peers.map((peer) => ({ text: whole(forecast.to[peer][field] ?? 0), harm: forecast.to[peer][harm] > 0, on: peer === watched.target, zero: !forecast.to[peer][field] }))),
    name,
    zero: name !== ALWAYS && peers.every((peer) => !forecast.to[peer][field]),
  }));
  return element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, withZeroRows(document, rows, peers.length + 1))]);
}

function failoverTable(document, over, down) {
  const head = element(document, "tr", {}, [
    headCell(document, "col", [`${over.from} → ${over.to}, ${over.mode}, ${seconds(over.at_us)}\u00a0s`, "failover"]),
    headCell(document, "col", "so far", ".on"),
  ]);
  const rows = FAILOVER_LINES.map(([name, say, harm]) => ({ row: lineOf(document, name, [{ text: say(over), harm: harm && over[harm] > 0 && (harm !== MISSING || down), on: true }]), name, zero: name !== ALWAYS && say(over) === "0" }));
  return element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, withZeroRows(document, rows, 2))]);
}

function lineOf(document, name, cells) {
  const classes = (cell) => ["", cell.harm && "harm-text", cell.on && "on", cell.zero && "zero"].filter(Boolean).map((word) => `.${word}`).join("");
  return element(document, PARTS.has(name) ? "tr.part" : "tr", {}, [headCell(document, "row", name), ...cells.map((cell) => element(document, `td${classes(cell)}`, { text: cell.text }))]);
}
