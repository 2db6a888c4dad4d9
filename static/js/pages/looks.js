/** Looking inside: from a thing in the diagram, a glyph in the strip of time or a row of the list to the inspector. */

import { makeInspector } from "../render/inspector.js";

export function makeLooks({ document, root, requests, base, getState, getWatched, link, wake, onFollow }) {
  const inspector = makeInspector(document, root, {
    getMarker: (number) => requests.get(`${base}marker/${number}.json`),
    onSeek: (row) => link.seekSeq(row.seq),
    onFollow: (producer, number) => {
      onFollow(producer, number);
      wake();
    },
  });
  return {
    showMarker: (number) => inspector.showMarker(number),
    showThing(thing) {
      if (thing.marker !== null) inspector.showMarker(thing.marker);
      else inspector.showMessage(getState(), getWatched(), thing.cluster, thing.index);
    },
  };
}
