/** EMQX's view of the lab page: the leader with its clients and tapes, the table of redeliveries, and the effect of clicks. */

import { makeCurveWindow } from "../../../model/curve_window.js";
import { makeTimeSection } from "../../../render/time_section.js";
import { groupThingWords } from "../model/groups.js";
import { inspectorOf, makeGroupRisk } from "../render/group_tables.js";
import { makeGroupStage } from "../render/group_stage.js";
import { GROUP_TIME } from "../render/group_time.js";
import { MENUS } from "../transport/fault_menus.js";

/** Width of the names left of the time diagram, px. */
const LABELS_PX = 110;

/** @param {import("../../../pages/lab_view.js").Tools} tools @returns {import("../../../pages/lab_view.js").ProtocolView} */
export function makeGroupView({ document, root, requests, base, link, getState, getWatched, wake, menus, inspector }) {
  const stage = makeGroupStage(document, root, { onThing, onChange: wake, say: (thing) => groupThingWords(getState(), getWatched(), thing) });
  const risk = makeGroupRisk(document, root);
  const curve = makeCurveWindow({ get: requests.get, base, onAnswer: wake });
  const time = makeTimeSection(root, { onMarker: () => {}, onChange: wake, onInstant: (at_us) => link.seek(at_us) }, curve, GROUP_TIME);

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
    time_acts: time.acts,
    update: stage.update,
    animate: stage.animate,
    updateTime(state, watched, theme, given) {
      const plane = stage.scene()?.plane;
      if (plane) time.update(state, watched, theme, { ...given, plane: { turned: plane.turned, a0: LABELS_PX * plane.scale, a1: plane.width - LABELS_PX * plane.scale } });
    },
    timeAxis: time.axis,
    shareTimeAxis: time.shareAxis,
    updateSide: risk.update,
    redraw() {
      stage.redraw();
      time.forget();
    },
    failOver: menus.breakSomething, // a group has no failover
    look,
  };
}
