/** Pulsar's view of the lab page: logs in lanes, time diagram, figures, snapshots, and the effect of clicks. */

import { makeCurveWindow } from "../../../model/curve_window.js";
import { required } from "../../../render/dom.js";
import { themeFor } from "../../../render/theme.js";
import { linkMenu } from "../../../transport/menu.js";
import { isLoading, olderCells } from "../model/older_cells.js";
import { makePassages } from "../model/snapshots.js";
import { makeLooks, wordsOfThing } from "../render/looks.js";
import { makeTiles } from "../model/tiles.js";
import { makeBuilding } from "../render/building.js";
import { makeCaches } from "../render/caches.js";
import { makePartitions } from "../render/partitions.js";
import { makeRisk } from "../render/risk.js";
import { makeStage } from "../render/stage.js";
import { makeTimeSection } from "../../../render/time_section.js";
import { makeTimeDiagram } from "../render/time_diagram.js";
import { makeAckSync } from "../render/ack_sync.js";
import { clusterMenu, consumerMenu, delayMessageOf, delayOf, dropOf, flightMenu } from "../transport/fault_menus.js";
import { makeFailover } from "../transport/failover_dialog.js";
import { makePredictions } from "./predictions.js";

const PICTURE_BUTTONS = ["magnify", "reduce", "follow", "together"];

/** What dragging a marker or message in flight does: the lab pauses, and letting it go gives the fault on a new branch. No fault loses a single message: its menu has the faults that lose or repeat several. */
function onDraggedFlight({ link, getState, menus, say }) {
  function give(fault, done) {
    menus.giveBefore(fault);
    if (getState().welcome?.owner) say({ error: `${done} on a new branch.`, hint: "Z, or the other branch, undoes it.", tone: "plain" });
  }
  return {
    onHold: () => getState().playing && getState().welcome?.owner && link.pause(),
    onDelay(flight, by_us) {
      if (flight.what !== "message") give(delayOf(flight, by_us), "The marker is delayed");
      else give(delayMessageOf(flight, by_us, getState().view.links[`${flight.from} -> ${flight.to}`]), "The message is delayed and those behind it wait,");
    },
    onDrop(flight, anchor) {
      if (flight.what !== "message") return give(dropOf(flight), "The marker is dropped");
      say({ error: "A single message is not lost: TCP sends a lost packet again, and the messages behind it wait.", hint: "Drag it back along the link to delay it like that. Its menu has the faults that lose or repeat messages.", tone: "plain" });
      menus.show(flightMenu(flight), anchor);
    },
  };
}

/** @param {import("../../../pages/lab_view.js").Tools} tools @returns {import("../../../pages/lab_view.js").ProtocolView} */
export function makePulsarView(tools) {
  const { document, root, requests, base, link, getState, getWatched, choose, wake, redraw, menus } = tools;
  const tiles = makeTiles({ get: requests.get, base, onTile: wake });
  const asking = { get: requests.get, base, onAnswer: wake };
  const looks = makeLooks(tools);
  const predictions = makePredictions(tools);
  const on = {
    onCluster: (cluster, anchor) => menus.show(clusterMenu(menus.state(), getWatched(), cluster), anchor),
    onConsumer: (cluster, anchor) => menus.show(consumerMenu(menus.state(), getWatched(), cluster), anchor),
    onLink: (pair, anchor) => menus.show(linkMenu(menus.state(), pair), anchor),
    onFlight: (flight, anchor) => menus.show(flightMenu(flight), anchor),
    onThing: (thing) => predictions.take(thing) || looks.showThing(thing),
    ...onDraggedFlight(tools),
    onChange: wake,
    say: (thing) => predictions.say(thing) ?? wordsOfThing(getState(), getWatched(), thing),
    prediction: predictions.shown,
  };
  const stage = makeStage(document, root, on, tiles);
  const time = makeTimeSection(root, { onMarker: looks.showMarker, onChange: wake, onInstant: (at_us) => link.seek(at_us) }, makeCurveWindow(asking), makeTimeDiagram(makePassages(asking)));
  const partitions = makePartitions(document, root, { onTopic: (topic) => choose({ topic }), onFold: redraw });
  const risk = makeRisk(document, root);
  const ack_sync = makeAckSync(document, root);
  const building = makeBuilding(document, root);
  const caches = makeCaches(document, root);
  const failover = makeFailover(tools);
  for (const act of PICTURE_BUTTONS) required(root, `[data-act=${act}]`).addEventListener("click", stage.acts[act]);

  return {
    acts: { ...stage.acts, ...partitions.acts },
    time_acts: time.acts,
    themeOf: (theme, watched) => themeFor(theme, watched.clusters),
    updateAbove: partitions.update,
    update: stage.update,
    animate: stage.animate,
    updateTime: (state, watched, theme, given) => {
      const plane = stage.scene()?.plane;
      if (plane) time.update(state, watched, theme, { ...given, plane });
    },
    timeAxis: time.axis,
    shareTimeAxis: time.shareAxis,
    updateSide(state, watched, theme, ratio, width) {
      risk.update(state, watched);
      ack_sync.update(state, watched);
      building.update(state, watched, theme, ratio, width);
      caches.update(state, watched, theme, ratio, width);
    },
    redraw() {
      stage.redraw();
      time.forget();
    },
    older: (state) => olderCells(stage.scene(), state, tiles),
    isLoading: (state) => isLoading(stage.scene(), state),
    forgetBranch: tiles.clear,
    failOver: failover.show,
    predictions,
    explain: stage.explain,
    look: looks.showThing,
    actsOfRow: (row) => (row.marker === undefined ? [] : [{ says: "Inspect the marker", act: () => looks.showMarker(row.marker) }]),
  };
}
