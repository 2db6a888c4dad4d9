/** The failover dialog: source, target, mode and producers, with the forecast for the choice. */

import { valueOf } from "../../../model/commands.js";
import { seconds } from "../../../model/format.js";
import { clustersOf, isUp, lanesOf } from "../../../model/state.js";
import { costOf, nowhere } from "../model/sentence.js";
import { topicView } from "../model/topics.js";
import { allOf, element, putParts, required } from "../../../render/dom.js";

const MODES = {
  crash: "The clients crash with their region: acknowledgements and data on the wire are lost.",
  planned: "Consumers finish their unacked messages, close, and connect there.",
  drained: "As planned, but first wait until the target's cursor has caught up, or the limit has passed.",
  auto: "Clients probe their region and move by themselves.",
};

const PROBES = {
  connect: "As Pulsar's AutoClusterFailover: a probe is a TCP connection, which a proxy without brokers accepts too.",
  lookup: "As SameAuthParamsLookupAutoClusterFailover: a probe looks a topic up. By default the error of a proxy without brokers counts as an answer.",
};

const LOOKUP_NUMBERS = ["failoverThreshold", "recoverThreshold", "checkHealthyIntervalMs"];

/**
 * @param {(name: string) => any} field the dialog's field of a name
 * @returns {Object<string, any>} the arguments of an automatic failover that its fields give
 */
function probeArguments(field) {
  const typed = (names, kind) => Object.fromEntries(names.map((name) => [name, field(name).value.trim()]).filter(([, value]) => value).map(([name, value]) => [name, valueOf(kind, value)]));
  if (field("probe").value === "connect") {
    return { ...typed(["probeInterval", "failoverDelay", "switchBackDelay"], "duration"), ...(field("switchBack").checked ? {} : { switchBack: false }) };
  }
  return {
    probe: "lookup",
    ...typed(LOOKUP_NUMBERS, "integer"),
    ...typed(["pulsarServiceUrlArray"], "clusters"),
    ...(field("markTopicNotFoundAsAvailable").checked ? {} : { markTopicNotFoundAsAvailable: false }),
  };
}

/**
 * @param {Document} document
 * @param {HTMLDialogElement} dialog
 * @param {{getState: () => import("../../../model/state.js").LabState, getWatched: () => any, onCommands: (commands: object[]) => void}} on
 */
export function makeFailoverDialog(document, dialog, { getState, getWatched, onCommands }) {
  /** @returns {any} the field of this name: an input or a select */
  const field = (name) => required(dialog, `[name=${name}]`);
  const says = required(dialog, "[data-part=mode-words]");
  const forecast = required(dialog, "[data-part=failover-forecast]");

  const stillUp = (cluster) => isUp(getState(), cluster);

  function refresh() {
    const mode = field("mode").value;
    says.textContent = MODES[mode];
    for (const part of allOf(dialog, "[data-mode]")) part.hidden = part.dataset.mode !== mode;
    required(dialog, "[data-part=probe-words]").textContent = PROBES[field("probe").value];
    for (const part of allOf(dialog, "[data-probe]")) part.hidden = part.dataset.probe !== field("probe").value;
    if (!stillUp(field("from").value)) required(dialog, "[data-part=also-crash]").hidden = true;
    const figures = getState().view?.forecast?.[getWatched().subscription];
    const to = figures?.from === field("from").value ? figures.to[field("to").value] : null;
    putParts(document, forecast, to && mode === "crash" ? [`At ${seconds(getState().at_us)} s: `, ...costOf(to)] : []);
  }

  /** Offers as targets all regions that are up, except the source. */
  function offerTargets(chosen) {
    const targets = lanesOf(getState()).filter((name) => name !== field("from").value && stillUp(name));
    field("to").replaceChildren(...targets.map((name) => element(document, "option", { text: name, value: name, selected: name === chosen })));
  }

  field("from").addEventListener("change", () => offerTargets(field("to").value));
  dialog.addEventListener("change", refresh);
  required(dialog, "[data-act=failover-cancel]").addEventListener("click", () => dialog.close());
  required(dialog, "form").addEventListener("submit", (event) => {
    event.preventDefault();
    dialog.close();
    onCommands(commands());
  });

  function commands() {
    const mode = field("mode").value;
    const command = { do: "subscription.fail-over", subscription: getWatched().subscription, from: field("from").value, to: field("to").value, mode };
    if (field("producers").checked) command.producers = true;
    if (mode === "drained") {
      if (field("limit").value.trim()) command.limit = field("limit").value.trim();
      if (field("stop-producers").checked) command["stop-producers"] = true;
    }
    if (mode === "auto") Object.assign(command, probeArguments(field));
    const crash = mode === "crash" && field("also-crash").checked && stillUp(command.from);
    return crash ? [{ do: "cluster.crash", cluster: command.from }, command] : [command];
  }

  return {
    show() {
      const watched = getWatched();
      field("from").replaceChildren(...lanesOf(getState()).map((name) => element(document, "option", { text: name, value: name, selected: name === watched.subject })));
      offerTargets(watched.target);
      required(dialog, "[data-part=failover-title]").textContent = `Fail ${watched.subscription} over`;
      refresh();
      dialog.showModal();
    },
  };
}

/** Tells what can exist in a lab, so that the page leaves out what its scenario can never show. */

const SNAPSHOT_FAMILY = "replicated-subscriptions";

/** @param {import("../../../model/state.js").LabState & import("../model/folds.js").PulsarState} state @returns {boolean} whether there is another cluster to fail over or replicate to */
export const hasPeers = (state) => clustersOf(state).length > 1;

/** @returns {boolean} whether snapshots are the subject of the scenario's family, or a cluster of the watched topic can take or use one */
export function takesSnapshots(state, watched) {
  if (!hasPeers(state)) return false;
  if (state.welcome?.family === SNAPSHOT_FAMILY) return true;
  return watched.clusters.some((cluster) => {
    const topic = topicView(state, cluster, watched.topic);
    return topic && (topic.controller || Object.values(topic.subscriptions ?? {}).some(({ replicated }) => replicated));
  });
}

/** Opens the failover dialog, or reports what can be done without another region. */

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
