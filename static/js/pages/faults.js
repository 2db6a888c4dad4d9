/** From a click on a thing, or a key, to a command: menus, the form for any command, the failover dialog. Each says beforehand what will happen. */

import { consequencesOf } from "../model/consequences.js";
import { nowhere } from "../model/sentence.js";
import { hasPeers } from "../model/possible.js";
import { makeCommandForm } from "../transport/command_form.js";
import { makeFailoverDialog } from "../protocols/pulsar/transport/failover_dialog.js";
import { isGroupLab } from "../protocols/emqx/model/groups.js";
import { breakMenu, clusterMenu, consumerMenu, flightMenu, linkMenu } from "../protocols/pulsar/transport/fault_menus.js";
import { clientMenu, groupBreakMenu, leaderMenu, nodeMenu, saidMenu } from "../protocols/emqx/transport/fault_menus.js";
import { makeMenu } from "../transport/menu.js";
import { required } from "../render/dom.js";

const MENUS = {
  node: (state, watched, { node }) => nodeMenu(state, node),
  leader: (state, watched) => leaderMenu(state, watched),
  client: (state, watched, { client }) => clientMenu(state, watched, client),
  link: (state, watched, { pair }) => linkMenu(state, pair),
  flight: (state, watched, { flight }) => saidMenu(flight),
};

export function makeFaults({ document, root, link, getState, getWatched, say, onMarker, onInside }) {
  const form = makeCommandForm(document, required(root, "[data-part=command-dialog]"), { getState, getWatched, onCommand: give });
  const failover = makeFailoverDialog(document, required(root, "[data-part=failover-dialog]"), {
    getState,
    getWatched,
    // the first begins the branch, the others belong to it
    onCommands: ([first, ...others]) => {
      give(first);
      others.forEach((command) => link.command(command));
    },
  });
  const menu = makeMenu(document, required(root, "[data-part=menu-home]"), choose, wordsOf);
  const break_button = required(root, "[data-act=break]");
  const acts = {
    breakSomething: () => getState().view && menu.show((isGroupLab(getState()) ? groupBreakMenu : breakMenu)(getState(), getWatched()), break_button),
    failOver,
    anyCommand: () => form.show(),
  };
  break_button.addEventListener("click", acts.breakSomething);
  required(root, "[data-act=fail-over]").addEventListener("click", acts.failOver);

  function failOver() {
    const state = getState();
    if (!state.view) return;
    if (!hasPeers(state)) acts.breakSomething(); // a group, or a cluster alone, has nowhere to go
    else if (getWatched().target === null) say({ error: nowhere(state, getWatched()), hint: "Restart a region, or go back to an instant at which one is up.", tone: "plain" });
    else failover.show();
  }

  /** On a branch of its own, so that Z undoes it. */
  function give(command) {
    link.command(command, { apart: true });
  }

  function choose(item) {
    if (item.command && item.before_us !== undefined) giveBefore(item);
    else if (item.command) give(item.command);
    else if (item.form) form.show(item.form.name, item.form.preset);
    else if (item.marker !== undefined) onMarker(item.marker);
    else if (item.look) onInside(item.look);
    else acts[item.act]();
  }

  /** What is on the wire left a while ago: the fault waits for it there, and the lab comes back to this instant of the new branch. */
  function giveBefore({ command, before_us }) {
    const { at_us, playing } = getState();
    if (playing) link.pause();
    if (!link.seek(Math.max(0, before_us - 1))) return;
    give(command);
    link.seek(at_us);
  }

  function wordsOf(item) {
    if (item.words) return item.words;
    if (item.command) return `${consequencesOf(item.command, getState(), getWatched())}${item.before_us === undefined ? "" : " Given just before it left, on a branch."}`;
    if (item.form) return consequencesOf({ do: item.form.name, ...item.form.preset }, getState(), getWatched());
    return item.act === "failOver" ? "Choose from, to and how; what it would cost is said before you do it." : "Every command there is, with what it does.";
  }

  return {
    acts,
    on: {
      onCluster: (cluster, anchor) => menu.show(clusterMenu(getState(), getWatched(), cluster), anchor),
      onConsumer: (cluster, anchor) => menu.show(consumerMenu(getState(), getWatched(), cluster), anchor),
      onLink: (pair, anchor) => menu.show(linkMenu(getState(), pair), anchor),
      onFlight: (flight, anchor) => menu.show(flightMenu(flight), anchor),
      /** A thing of a group lab: a menu where something can be done to it, else a look inside. */
      onGroupThing: (thing, anchor) => {
        const of_group = MENUS[thing.kind];
        if (of_group) menu.show(of_group(getState(), getWatched(), thing), anchor);
        else onInside(thing);
      },
    },
  };
}
