/** EMQX on pages without a lab: draws the picture of a group, and names the causes of duplicates. */

import { paintGroupPicture } from "./render/group_picture.js";

/** @type {import("../light_table.js").LightProtocol} */
export const EMQX_LIGHT = {
  draws: ({ group }) => Boolean(group),
  paintPicture: (canvas, { group }, theme, given) => paintGroupPicture(canvas, group, theme, given),
  causes: {
    progress_unreported: "acked, not reported to a leader",
    progress_unpersisted: "reported to a leader, not yet committed",
    owner_declared_dead: "acked while another client read, too",
    progress_rewound: "position moved back by a late report",
    chunk_repeated: "in a chunk that was not acked completely",
    leader_outdated: "granted by an outdated leader",
  },
};
