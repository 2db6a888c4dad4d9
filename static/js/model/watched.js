/** What the page looks at, as the lab's protocol decides it. A viewer's wishes hold while they exist. */

import { protocolOf } from "../protocols/table.js";

/**
 * @param {import("./state.js").LabState} state
 * @param {{topic?: string, subscription?: string, target?: string, group?: string}} wish what the viewer chose
 * `clusters` are sorted (the number of a cell's origin is a place among them), `lanes` the same in the order in which they are shown.
 * @returns {{topic?: string, subscription?: string, subject?: string, target: string | null, clusters: string[], lanes: string[], peers: string[], group?: string | null} | null}
 */
export const whatIsWatched = (state, wish) => (state.view ? protocolOf(state).watched(state, wish) : null);
