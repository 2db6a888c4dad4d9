/** EMQX on pages without a lab: draws the picture of a group. */

import { paintGroupPicture } from "./render/group_picture.js";

/** @type {import("../light_table.js").LightProtocol} */
export const EMQX_LIGHT = {
  draws: ({ group }) => Boolean(group),
  paintPicture: (canvas, { group }, theme, given) => paintGroupPicture(canvas, group, theme, given),
  causes: {},
};
