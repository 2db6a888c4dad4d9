/** Failing over: the dialog, or what can be done where there is no region to fail over to. */

import { required } from "../../../render/dom.js";
import { hasPeers } from "../model/possible.js";
import { nowhere } from "../model/sentence.js";
import { makeFailoverDialog } from "../transport/failover_dialog.js";

/** @param {import("../../../pages/protocol_view.js").Tools} tools */
export function makeFailover({ document, root, link, getWatched, menus, say }) {
  const dialog = makeFailoverDialog(document, required(root, "dialog[data-part=failover-dialog]"), {
    getState: menus.state,
    getWatched,
    // the first begins the branch, the others belong to it
    onCommands: ([first, ...others]) => {
      menus.give(first);
      others.forEach((command) => link.command(command));
    },
  });
  return {
    show() {
      const state = menus.state();
      if (!hasPeers(state)) menus.breakSomething(); // a cluster alone has nowhere to go
      else if (getWatched().target === null) say({ error: nowhere(state, getWatched()), hint: "Restart a region, or go back to an instant at which one is up.", tone: "plain" });
      else dialog.show();
    },
  };
}
