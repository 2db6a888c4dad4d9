/** The table beside a group lab: how many messages each crash would redeliver now, and the state of the streams. */

import { clientsOf, countsOf, leaderOf, tapesOf } from "../model/groups.js";
import { seconds, whole } from "../../../model/format.js";
import { figuresOf } from "../model/rounds.js";
import { element, required } from "../../../render/dom.js";
import { columnHeads, headCell, renew } from "../../../render/terms.js";
import { listenToZeroRows, withZeroRows } from "../../../render/zero_rows.js";

/** Number of clients listed, those with most redeliveries first. */
const LISTED = 6;
/** Figures that are added to the table; the others are in it already. */
const SHOWN = new Set(["handover time", "duplicates so far"]);

export function makeGroupRisk(document, root) {
  const box = required(root, "[data-part=risk]");
  let shown = "";
  let drawn = {};
  listenToZeroRows(box);
  return {
    update(state, watched) {
      if (watched.group === null || (state === drawn.state && watched.group === drawn.group)) return;
      drawn = { state, group: watched.group };
      const group = state.view.groups[watched.group];
      const { unread, doubled, streams, over } = countsOf(tapesOf(state, watched.group));
      const sessions = Object.entries(group.repeats.sessions).sort(([, a], [, b]) => b.again - a.again);
      const leading = leaderOf(group);
      const facts = { leader: group.repeats.leader, sessions: sessions.slice(0, LISTED), more: sessions.length - LISTED, unread, doubled, streams, over, committed_us: leading?.leader.committed_us, cost: figuresOf(group), clients: clientsOf(state, watched.group).filter(({ online }) => online).length };
      const key = JSON.stringify([watched.group, facts]);
      if (key === shown) return;
      shown = key;
      renew(box, [crashes(document, watched.group, facts), presentFigures(document, facts)]);
    },
  };
}

function crashes(document, name, { leader, sessions, more }) {
  const head = element(document, "tr", {}, columnHeads(document, ["A crash now", "redelivered", "of these acked"]));
  const lines = [["leader crash", leader], ...sessions.map(([client, figures]) => [{ name: `${client} killed` }, figures])];
  const rows = lines.map(([words, figures]) => rowOf(document, words, figures ? [[figures.again, figures.again ? "td.harm-text.on" : "td.zero"], [figures.acknowledged, figures.acknowledged ? "td" : "td.zero"]] : [["–", "td.zero"], ["–", "td.zero"]]));
  if (more > 0) rows.push(rowOf(document, { name: `${whole(more)} more` }, [["not more", "td"], ["", "td"]]));
  return element(document, "table", { "aria-label": `Redeliveries if something crashed now, ${name}` }, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]);
}

function presentFigures(document, { unread, doubled, streams, over, committed_us, clients, cost }) {
  const lines = [
    ["streams", streams - over, ""],
    ["without a reader", unread, "harm"],
    ["with two readers", doubled, "harm"],
    ["clients online", clients, ""],
    ["last commit", committed_us === undefined ? "–" : `${seconds(committed_us, 2)} s`, ""],
    ...cost.filter(({ name }) => SHOWN.has(name)).map(({ name, value }) => [name, value === "0" ? 0 : value, ""]),
  ];
  return element(document, "table", { "aria-label": "Current state" }, [element(document, "tbody", {}, withZeroRows(document, lines.map(([words, value, tone]) => ({ row: rowOf(document, words, [[value, tone === "harm" && value > 0 ? "td.harm-text.on" : value === 0 ? "td.zero" : "td"]]), name: words, zero: value === 0 })), 2))]);
}

function rowOf(document, head, cells) {
  return element(document, "tr", {}, [headCell(document, "row", head), ...cells.map(([value, tag]) => element(document, tag, { text: typeof value === "number" ? whole(value) : value }))]);
}
