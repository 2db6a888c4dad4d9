/** Chooses what the page shows, as the lab's protocol decides it. The viewer's choice applies while its object exists. */

import { protocolOf } from "../protocols/table.js";

/**
 * @param {import("./state.js").LabState} state
 * @param {{topic?: string, subscription?: string, target?: string, group?: string}} selection what the viewer chose.
 * `clusters` are sorted (a cell's origin is an index into them), `lanes` are the same in the order in which they are shown.
 * @returns {{topic?: string, subscription?: string, subject?: string, target: string | null, clusters: string[], lanes: string[], peers: string[], group?: string | null} | null}
 */
export const whatIsWatched = (state, selection) => (state.view ? protocolOf(state).watched(state, selection) : null);
