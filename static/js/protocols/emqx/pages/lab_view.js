/** EMQX's view of the lab page: the leader with its clients and tapes, the table of redeliveries, and the effect of clicks. */

import { groupThingWords } from "../model/group_words.js";
import { inspectorOf } from "../render/group_looks.js";
import { makeGroupRisk } from "../render/group_risk.js";
import { makeGroupStage } from "../render/group_stage.js";
import { MENUS } from "../transport/fault_menus.js";

/** @param {import("../../../pages/protocol_view.js").Tools} tools @returns {import("../../../pages/protocol_view.js").ProtocolView} */
export function makeGroupView({ document, root, getState, getWatched, wake, menus, inspector }) {
  const stage = makeGroupStage(document, root, { onThing, onChange: wake, say: (thing) => groupThingWords(getState(), getWatched(), thing) });
  const risk = makeGroupRisk(document, root);

  /** Opens the menu of a thing, if it has one, else the inspector. */
  function onThing(thing, anchor) {
    const menu = MENUS[thing.kind];
    if (menu) menus.show(menu(menus.state(), getWatched(), thing), anchor);
    else look(thing);
  }

  function look(thing) {
    const found = inspectorOf(document, getState(), getWatched(), thing);
    if (found) inspector.showFacts(found.title, found.nodes, found.term, thing);
  }

  return {
    acts: stage.acts,
    update: stage.update,
    animate: stage.animate,
    updateSide: risk.update,
    redraw: stage.redraw,
    failOver: menus.breakSomething, // a group has no failover
    look,
  };
}
