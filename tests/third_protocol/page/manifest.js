/** The third protocol of the tests on the lab page: a line for each server. What each entry is: `static/js/protocols/table.js`. */

import { element, required } from "../../../static/js/render/dom.js";

const linesOf = (state) => Object.entries(state.view.servers).map(([name, one]) => `${name} ${one.up ? "is up" : "is down"}: ${one.stored} stored, read up to ${one.cursor}, persisted up to ${one.persisted}.`);

/** @param {import("../../../static/js/pages/lab_view.js").Tools} tools @returns {import("../../../static/js/pages/lab_view.js").ProtocolView} */
function makeView({ document, root, menus }) {
  const list = element(document, "ul", {});
  required(root, "section.logs").append(list);
  return {
    acts: {},
    update: (state) => list.replaceChildren(...linesOf(state).map((text) => element(document, "li", { text }))),
    animate: () => false,
    updateSide() {},
    redraw() {},
    failOver: menus.breakSomething,
    look() {},
  };
}

/** @type {import("../../../static/js/protocols/table.js").Protocol} */
export const SINGLE_LOG = {
  name: "single-log",
  page_class: "single-log",
  watched: (state) => ({ clusters: Object.keys(state.view.servers), lanes: state.welcome.lanes, peers: [], target: null }),
  choices: () => ({}),
  possible: () => ({ snapshots: false, peers: false }),
  sentence: (state) => [{ strong: String(Object.values(state.view.servers).filter(({ up }) => up).length) }, " servers are up."],
  ask: () => ({ question: null, shown: false }),
  mirror: (state) => [{ title: "Servers", lines: linesOf(state) }],
  rows: {
    "server.crashed": (row) => [{ harm: `${row.cluster} crashed` }],
    "server.restarted": (row) => [`${row.cluster} restarted after entry ${row.entry}`],
    "position.persisted": (row) => [`${row.cluster} persisted its position ${row.entry}`],
  },
  marks: { rows: { "server.crashed": (row) => `${row.cluster} crashed`, "server.restarted": (row) => `${row.cluster} restarted` }, planned: {} },
  first_command: "server.crash",
  argument_choices: { server: (state) => state.welcome.names.servers },
  live_consequences: { "server.crash": (declared, { server }, state) => [declared, `It goes back to entry ${state.view.servers[server].persisted} when it is up again.`] },
  breakMenu: (state) => [{ title: "Servers", items: state.welcome.names.servers.map((server) => ({ says: `crash ${server}`, command: { do: "server.crash", server } })) }],
  keys: { without: [], says: {} },
  legend: [{ words: "server", term: "event", says: "A line is a server.", marks: ["server"], group: "Servers", width: 10, first: true, draw: (context) => context.fillRect(0, 8, 10, 2) }],
  panels: [],
  makeView,
};
