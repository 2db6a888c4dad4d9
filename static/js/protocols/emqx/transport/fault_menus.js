/** The menus of the things of a group lab, as items made from the present state. Data only. */

import { clientsOf, leaderOf } from "../model/groups.js";
import { linkMenu } from "../../../transport/menu.js";

/** @typedef {import("../../../transport/menu.js").Item} Item */

const session = (does, client) => ({ do: `session.${does}`, session: client });

/** @returns {{title: string, items: Item[]}[]} */
export function nodeMenu(state, node) {
  const up = state.view.clusters[node]?.state === "up";
  const life = up ? { says: "Crash it", key: "C", harm: true, command: { do: "node.crash", node } } : { says: "Restart it", key: "R", command: { do: "node.restart", node } };
  const others = Object.keys(state.view.clusters).filter((other) => other !== node && state.view.links[`${node} -> ${other}`]);
  const away = Object.entries(state.view.sessions).filter(([, one]) => one.node === node && one.state === "offline");
  const more = up
    ? [
        { says: "Stop it gracefully", key: "S", command: { do: "node.stop", node } },
        { says: "Evacuate and stop it", key: "E", command: { do: "node.stop", node, evacuate: true } },
        { says: "Cut it off from the leaders' store for 90 s", harm: true, command: { do: "store.fail", for: "90s", node } },
      ]
    : [];
  return [
    { title: `node ${node}`, items: [life, ...more, ...(up ? away.slice(0, 6).map(([client]) => ({ says: `Connect ${client}`, command: session("connect", client) })) : [])] },
    ...others.map((other) => linkMenu(state, [node, other])[0]),
  ];
}

/** @returns {{title: string, items: Item[]}[]} */
export function leaderMenu(state, { group }) {
  const leading = leaderOf(state.view.groups[group]);
  const look = { says: "Inspect", key: "L", look: { kind: "leader" }, words: "Its borrowers with their deadlines, the state of each stream, and its next commit." };
  const life = leading
    ? [
        { says: "Crash it", key: "C", harm: true, command: { do: "leader.crash", group } },
        { says: "Stop it gracefully", key: "S", command: { do: "leader.stop", group } },
      ]
    : [];
  return [
    { title: leading ? `leader ${leading.number} of ${group}` : `no leader of ${group}`, items: [look, ...life] },
    { title: "its store and storage", items: [{ says: "Change a timer…", form: { name: "config.update", preset: {} } }, { says: "Make the leaders' store fail for 5 s", harm: true, command: { do: "store.fail", for: "5s" } }, { says: "Close the generation", key: "G", command: { do: "storage.close-generation" } }, { says: "Add shards…", form: { name: "storage.add-shards", preset: {} } }] },
    { title: group, items: [{ says: "Destroy the group", harm: true, command: { do: "group.destroy", group } }] },
  ];
}

/** @returns {{title: string, items: Item[]}[]} */
export function clientMenu(state, { group }, client) {
  const one = state.view.sessions[client];
  const look = { says: "Inspect", key: "L", look: { kind: "client", client }, words: "Its borrowers, their timers, their streams and unacked messages." };
  if (one.state === "offline") return [{ title: client, items: [look, { says: "Connect", key: "N", command: session("connect", client) }] }];
  const others = Object.keys(state.view.clusters).filter((node) => node !== one.node && state.view.clusters[node].state === "up");
  const text = state.view.groups[group].text;
  const shares = one.subscriptions.includes(text);
  const items = [
    look,
    { says: "Kill its session", key: "K", harm: true, command: session("kill", client) },
    { says: "Disconnect", key: "D", command: session("disconnect", client) },
    ...others.slice(0, 4).map((node) => ({ says: `Connect it to ${node} (takeover)`, command: { ...session("connect", client), node } })),
    one.acks_paused ? { says: "Resume its acks", key: "A", command: session("resume-acks", client) } : { says: "Pause its acks", key: "A", harm: true, command: session("pause-acks", client) },
    shares ? { says: `Unsubscribe from ${text}`, key: "U", command: { ...session("unsubscribe", client), topic: text } } : { says: `Subscribe to ${text}`, key: "U", command: { ...session("subscribe", client), topic: text } },
  ];
  return [{ title: client, items }];
}

/** @returns {{title: string, items: Item[]}[]} of a message in flight between nodes */
export function flightMenu(flight) {
  const next = { type: flight.what, session: flight.client, group: flight.subscription };
  const before_us = flight.sent_us;
  return [
    {
      title: `${flight.what} of ${flight.borrower}${flight.stream ? ` about ${flight.stream}` : ""}, ${flight.from} → ${flight.to}`,
      items: [
        { says: "Inspect", key: "L", look: { kind: "flight", flight }, words: "Its content, when it was sent, and when it arrives." },
        { says: "Lose it", key: "X", harm: true, command: { do: "protocol.lose", ...next }, before_us },
        { says: "Delay it by 1 s", key: "D", command: { do: "protocol.delay", ...next, by: "1s" }, before_us },
        { says: "Duplicate it", key: "2", command: { do: "protocol.duplicate", ...next, by: "500ms" }, before_us },
        { says: `Cut ${flight.from} → ${flight.to} while it is in flight`, key: "C", harm: true, command: { do: "link.cut", link: `${flight.from} -> ${flight.to}` } },
      ],
    },
  ];
}

/** Number of clients and of messages in flight that the menu without a pointer lists. */
const CLIENTS_LISTED = 8;
const FLIGHTS_LISTED = 4;

/** The menu of "Break…" in a group lab: the same faults without a pointer, and every other command. */
export function groupBreakMenu(state, watched) {
  const { group } = watched;
  const clients = group === null ? [] : clientsOf(state, group).filter(({ online }) => online).slice(0, CLIENTS_LISTED);
  const nodes = Object.keys(state.view.clusters);
  const pairs = nodes.flatMap((a, at) => nodes.slice(at + 1).map((b) => [a, b])).filter(([a, b]) => state.view.links[`${a} -> ${b}`]);
  const leads = group !== null && leaderOf(state.view.groups[group]);
  return [
    { title: "the leader", items: leads ? leaderMenu(state, watched)[0].items.slice(1).map((item) => ({ ...item, says: item.says.replace("it", `the leader of ${group}`), key: undefined })) : [] },
    { title: "a client", items: clients.map(({ name }) => ({ says: `Kill ${name}`, harm: true, command: session("kill", name) })) },
    { title: "a node", items: nodes.map((node) => ({ ...nodeMenu(state, node)[0].items[0], says: `${state.view.clusters[node].state === "up" ? "Crash" : "Restart"} ${node}`, key: undefined })) },
    {
      title: "a link",
      items: pairs.map(([a, b]) => {
        const cut = state.view.links[`${a} -> ${b}`]?.state === "cut";
        return { says: `${cut ? "Heal" : "Cut"} ${a} ↔ ${b}`, harm: !cut, command: { do: cut ? "link.heal" : "link.cut", link: `${a} <-> ${b}` } };
      }),
    },
    { title: "in flight", items: state.flights.slice(0, FLIGHTS_LISTED).map((flight) => ({ ...flightMenu(flight)[0].items[1], says: `Lose the ${flight.what} of ${flight.client}`, key: undefined })) },
    { title: "more", items: [{ says: "Close the generation", command: { do: "storage.close-generation" } }, { says: "Any command…", key: "A", act: "anyCommand" }] },
  ];
}

/** Menus of the things of a group lab, by kind of thing. */
export const MENUS = {
  node: (state, watched, { node }) => nodeMenu(state, node),
  leader: (state, watched) => leaderMenu(state, watched),
  client: (state, watched, { client }) => clientMenu(state, watched, client),
  link: (state, watched, { pair }) => linkMenu(state, pair),
  flight: (state, watched, { flight }) => flightMenu(flight),
};
