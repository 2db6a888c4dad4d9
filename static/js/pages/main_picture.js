/** The main picture of the page: the logs in their lanes, or, in a lab of groups, leader, clients and tapes. Which one is decided by the view itself. */

import { isGroupLab } from "../protocols/emqx/model/groups.js";

/**
 * @param {HTMLElement} root
 * @param {() => import("../model/state.js").LabState} getState
 * @param {ReturnType<import("../protocols/pulsar/render/stage.js").makeStage>} lanes
 * @param {ReturnType<import("../protocols/emqx/render/group_stage.js").makeGroupStage>} groups
 */
export function makeMainPicture(root, getState, lanes, groups) {
  const now = () => (isGroupLab(getState()) ? groups : lanes);
  const names = [...new Set([...Object.keys(lanes.acts), ...Object.keys(groups.acts)])];
  return {
    acts: Object.fromEntries(names.map((name) => [name, () => now().acts[name]?.()])),
    update(state, ...given) {
      root.classList.toggle("groups", isGroupLab(state));
      now().update(state, ...given);
    },
    animate: (...given) => now().animate(...given),
    redraw() {
      lanes.redraw();
      groups.redraw();
    },
    /** Of the lanes, for what hangs on them; none in a lab of groups. */
    scene: () => lanes.scene(),
  };
}
