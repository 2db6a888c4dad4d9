/** Opens the inspector for an entry in the diagram, a glyph in the time diagram or a row of the list. */

import { markerSentence } from "../model/marker_sentence.js";
import { markerNodes, messageLook } from "../render/looks.js";

/** @param {import("../../../pages/lab_view.js").Tools} tools */
export function makeLooks({ document, requests, base, getState, getWatched, link, lights, inspector, follow, wordsOfRow }) {
  const given = { onSeek: (row) => link.seekSeq(row.seq), wordsOfRow };
  const written = (marker) => ({ term: "marker", heading: `${marker.type.replace(/_/g, " ")} · marker ${marker.number}`, nodes: markerNodes(document, marker, { ...given, meaning: markerSentence(marker, getState(), getWatched()) }) });

  function showMarker(number) {
    inspector.showAnswer(`Marker ${number}`, () => requests.get(`${base}marker/${number}.json`), (marker) => written({ ...marker, number }), { marker: number });
    lights.marker(number);
  }

  function showThing(thing) {
    if (typeof thing.marker === "number") {
      showMarker(thing.marker);
      return;
    }
    const store = getState().cells[`${thing.cluster}/${getWatched().topic}`];
    if (!store || !(thing.index >= store.first && thing.index < store.first + store.count)) return; // a presenter may look at an entry that this page does not hold
    const { heading, nodes, producer, number } = messageLook(document, getState(), getWatched(), thing, follow);
    inspector.showFacts(heading, nodes, "message", thing);
    lights.message(producer, number);
  }

  return { showMarker, showThing };
}
