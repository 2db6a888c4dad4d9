/** Opens the failover dialog, or reports what can be done without another region. */

import { required } from "../../../render/dom.js";
import { hasPeers } from "../model/possible.js";
import { nowhere } from "../model/sentence.js";
import { makeFailoverDialog } from "../transport/failover_dialog.js";

/** @param {import("../../../pages/lab_view.js").Tools} tools */
export function makeFailover({ document, root, link, getWatched, menus, say }) {
  const dialog = makeFailoverDialog(document, required(root, "dialog[data-part=failover-dialog]"), {
    getState: menus.state,
    getWatched,
    // the first command starts the branch, the others belong to it
    onCommands: ([first, ...others]) => {
      menus.give(first);
      others.forEach((command) => link.command(command));
    },
  });
  return {
    show() {
      const state = menus.state();
      if (!hasPeers(state)) menus.breakSomething(); // a single cluster has no target
      else if (getWatched().target === null) say({ error: nowhere(state, getWatched()), hint: "Restart a region, or go back to an instant at which one is up.", tone: "plain" });
      else dialog.show();
    },
  };
}
