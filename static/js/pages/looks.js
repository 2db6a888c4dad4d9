/** Looking inside: from a thing in the diagram, a glyph in the strip of time or a row of the list to the inspector. */

import { lookInside } from "../protocols/emqx/render/group_looks.js";
import { makeInspector } from "../render/inspector.js";

export function makeLooks({ document, root, requests, base, getState, getWatched, link, lights, wake, onFollow }) {
  const inspector = makeInspector(document, root, {
    getMarker: (number) => requests.get(`${base}marker/${number}.json`),
    onSeek: (row) => link.seekSeq(row.seq),
    onFollow: (producer, number) => {
      onFollow(producer, number);
      wake();
    },
  });
  function showMarker(number) {
    inspector.showMarker(number);
    lights.marker(number);
  }
  return {
    showMarker,
    close: inspector.close,
    isOpen: inspector.isOpen,
    /** A thing of a group lab. */
    showInside(thing) {
      const found = lookInside(document, getState(), getWatched(), thing);
      if (found) inspector.showFacts(found.title, found.nodes);
    },
    showThing(thing) {
      if (thing.marker !== null) {
        showMarker(thing.marker);
        return;
      }
      const state = getState();
      const { columns, first } = state.cells[`${thing.cluster}/${getWatched().topic}`];
      inspector.showMessage(state, getWatched(), thing.cluster, thing.index);
      lights.message(state.names.list[columns.producer[thing.index - first]], columns.number[thing.index - first]);
    },
  };
}
