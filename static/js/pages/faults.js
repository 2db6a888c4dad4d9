/** From a click on a thing, or a key, to a command: menus, the form for any command, the failover dialog. */

import { makeCommandForm } from "../transport/command_form.js";
import { makeFailoverDialog } from "../transport/failover_dialog.js";
import { breakMenu, clusterMenu, consumerMenu, linkMenu } from "../transport/fault_menus.js";
import { makeMenu } from "../transport/menu.js";
import { required } from "../render/dom.js";

export function makeFaults({ document, root, link, getState, getWatched }) {
  const form = makeCommandForm(document, required(root, "[data-part=command-dialog]"), { getState, getWatched, onCommand: (command) => link.command(command) });
  const failover = makeFailoverDialog(document, required(root, "[data-part=failover-dialog]"), {
    getState,
    getWatched,
    onCommands: (commands) => commands.forEach((command) => link.command(command)),
  });
  const menu = makeMenu(document, required(root, "[data-part=menu-home]"), (item) => {
    if (item.command) link.command(item.command);
    else if (item.form) form.show(item.form.name, item.form.preset);
    else acts[item.act]();
  });
  const break_button = required(root, "[data-act=break]");
  const acts = {
    breakSomething: () => getState().view && menu.show(breakMenu(getState(), getWatched()), break_button),
    failOver: () => getState().view && failover.show(),
    anyCommand: () => form.show(),
  };
  break_button.addEventListener("click", acts.breakSomething);
  required(root, "[data-act=fail-over]").addEventListener("click", acts.failOver);
  return {
    acts,
    on: {
      onCluster: (cluster, anchor) => menu.show(clusterMenu(getState(), getWatched(), cluster), anchor),
      onConsumer: (cluster, anchor) => menu.show(consumerMenu(getState(), getWatched(), cluster), anchor),
      onLink: (pair, anchor) => menu.show(linkMenu(getState(), pair), anchor),
    },
  };
}
