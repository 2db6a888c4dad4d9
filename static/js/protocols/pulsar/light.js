/** Pulsar on pages without a lab: draws the picture of the lanes, and names the causes of duplicates. */

import { CAUSES } from "./model/cause_words.js";
import { paintLanesPicture } from "./render/picture.js";

/** @type {import("../light_table.js").LightProtocol} */
export const PULSAR_LIGHT = {
  draws: ({ group }) => !group,
  paintPicture: paintLanesPicture,
  causes: CAUSES,
};
