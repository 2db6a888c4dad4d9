/**
 * The panel “Shadow topics”: one set of ledgers and the topics that read it, on one axis, with their figures.
 * The figures are storage saved, entries visible, messages lost, and where reads were served. All of it is in the frames, so nothing is
 * requested from the server.
 */

import { bytes, counted, span, whole } from "../../../model/format.js";
import { fedBy, isBlind, readsInAll, savedBytes, sharedLedgers, sourceWatched, sourcesOf } from "../model/shadows.js";
import { drawShadows } from "../render/shadow_diagram.js";
import { element, setText } from "../../../render/dom.js";
import { columnHeads, renew } from "../../../render/terms.js";

const PLACES = [
  ["cache", "broker cache"],
  ["bookies", "bookies"],
  ["offload", "offloaded storage"],
];

/** @type {import("../../../pages/panels.js").Panel} */
export const SHADOWS = { name: "shadows", title: "Shadow topics", family: "shadow-topics", needs: "shadows", simulated: true, make };

function make(section, { document, window }) {
  section.classList.add("shadows");
  let selection = null;
  let drawn = "";
  const chooser = element(document, "div.choice", { role: "group", "aria-label": "Source topic" });
  const says = element(document, "p.says", {});
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("role", "img");
  const picture = element(document, "div.shared-ledgers", {}, [svg]);
  const table = element(document, "div.scrolls", { tabindex: 0, role: "region", "aria-label": "Topics on these ledgers" });
  const key = element(document, "p.quiet.key", { text: "Filled: readable. Dashed: written by the source, not readable here yet. Hatched: trimmed by the source. Upright line: last confirmed entry. Rail and pin: what a cursor has acknowledged, and its mark-delete position." });
  section.replaceChildren(chooser, says, picture, key, table);

  function offer(state, chosen) {
    const sources = sourcesOf(state);
    chooser.hidden = sources.length < 2;
    chooser.replaceChildren(
      ...sources.map(([cluster, source]) =>
        element(document, "button", { type: "button", "aria-pressed": String(cluster === chosen[0] && source === chosen[1]), text: `${source} in ${cluster}`, onclick: () => choose(state, [cluster, source]) }),
      ),
    );
  }

  function choose(state, source) {
    selection = source;
    drawn = "";
    write(state, source);
  }

  function write(state, source) {
    const shared = sharedLedgers(state, source);
    offer(state, source);
    setText(says, sentence(shared));
    drawShadows(document, svg, shared, picture.clientWidth || 600, Number(window.getComputedStyle(section).getPropertyValue("--scale")) || 1);
    svg.setAttribute("aria-label", `Ledgers of ${shared.source} with ${counted(shared.readers.length, "topic")} on them; the table has the same figures.`);
    renew(table, [figures(document, shared)]);
  }

  return {
    update(state, watched) {
      const known = sourcesOf(state);
      const source = known.find(([cluster, name]) => selection && cluster === selection[0] && name === selection[1]) ?? sourceWatched(state, watched);
      picture.hidden = table.hidden = key.hidden = !source;
      if (!source) {
        drawn = "";
        setText(says, "No topic here has a shadow topic. In a scenario file, shadowOf makes one.");
        svg.replaceChildren();
        table.replaceChildren();
        return;
      }
      const wanted = [source, state.view.branch, state.view.seq, state.at_us, picture.clientWidth].join("|");
      if (wanted === drawn) return;
      drawn = wanted;
      write(state, source);
    },
  };
}

function sentence(shared) {
  const kept = shared.to - shared.first_kept;
  const copies = counted(shared.readers.length - 1, "copy", "copies");
  const saved = savedBytes(shared);
  const saving = saved ? `${copies} would take ${bytes(saved)} more.` : kept ? "0 B saved: no shadow topic can read any of them yet." : "";
  return `${counted(kept, "entry", "entries")} in ${counted(shared.ledgers.length, "ledger")} serve ${counted(shared.readers.length, "topic")}. ${saving}`;
}

function readWords(reader) {
  const reads = PLACES.filter(([place]) => reader.reads[place]).map(([place, words]) => `${whole(reader.reads[place])} ${words}`);
  return reads.length ? reads.join(", ") : "none yet";
}

function figures(document, shared) {
  const head = element(document, "tr", {}, columnHeads(document, ["topic", "last confirmed entry", "not visible yet", "storage saved", "reads from", "lost", "fed by"]));
  const most = Math.max(1, ...shared.readers.map(readsInAll));
  const rows = shared.readers.map((reader) => {
    const lost = reader.cursors.reduce((total, cursor) => total + cursor.lost, 0);
    return element(document, "tr", {}, [
      element(document, "th", { scope: "row", text: reader.name }),
      element(document, "td.mono", { text: reader.last_confirmed }),
      element(document, `td${isBlind(reader) ? ".harm-text" : ""}`, { text: reader.behind ? `${counted(reader.behind, "entry", "entries")}, for ${span(reader.stale_us)}` : "0" }),
      element(document, "td", { text: reader.is_source ? "" : bytes(reader.saved_bytes) }),
      element(document, "td.reads", {}, [readsBar(document, reader, most), element(document, "span", { text: readWords(reader) })]),
      element(document, `td${lost ? ".harm-text" : ""}`, { text: lost ? counted(lost, "message") : "none" }),
      element(document, "td", { text: [fedBy(reader), reader.queued ? `${counted(reader.queued, "entry", "entries")} queued for a ledger that is not in the list yet` : "", reader.unreadable ? `a reader is stuck at ${reader.unreadable}, which is stored nowhere` : ""].filter(Boolean).join("; ") }),
    ]);
  });
  return element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]);
}

/** A bar of reads by place; its length is the reader's share of the most that any topic here has read. */
function readsBar(document, reader, most) {
  const bar = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ class: "reads-bar", viewBox: "0 0 100 8", width: 100, height: 8, "aria-hidden": "true", preserveAspectRatio: "none" })) bar.setAttribute(name, String(value));
  let left = 0;
  for (const [place] of PLACES) {
    const width = (100 * reader.reads[place]) / most;
    const piece = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    for (const [name, value] of Object.entries({ class: place, x: left, y: 0, width, height: 8 })) piece.setAttribute(name, String(value));
    bar.append(piece);
    left += width;
  }
  return bar;
}
