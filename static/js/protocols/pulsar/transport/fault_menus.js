/** The menus of the things in the lanes, as items made from the present state. Data only. */

import { topicView } from "../model/topics.js";

/** @typedef {import("../../../transport/menu.js").Item} Item */

/** @returns {{do: string, cluster: string, fault: string}} the crash after which what was sent still arrives */
const killProcesses = (cluster) => ({ do: "cluster.crash", cluster, fault: "process" });

/** @returns {{title: string, items: Item[]}[]} */
export function clusterMenu(state, watched, cluster) {
  const up = state.view.clusters[cluster]?.state === "up";
  const topic = topicView(state, cluster, watched.topic);
  const life = up
    ? [
        { says: "Crash now", key: "C", harm: true, command: { do: "cluster.crash", cluster } },
        { says: "Kill the broker processes", harm: true, command: killProcesses(cluster) },
        { says: "Crash its brokers, proxy stays up", harm: true, command: { do: "cluster.crash", cluster, clients: false, proxy: true } },
        { says: "Lose it permanently", harm: true, command: { do: "cluster.lose", cluster } },
      ]
    : [{ says: "Restart", key: "R", command: { do: "cluster.restart", cluster } }];
  const more = [];
  if (up && topic) more.push({ says: `Unload ${watched.topic}`, key: "U", command: { do: "topic.unload", cluster, topic: watched.topic } });
  if (topic?.controller?.pending?.length) more.push({ says: "Complete the snapshot with the responses so far (unsafe)", command: { do: "snapshot.finish-partial", cluster, topic: watched.topic } });
  for (const [name, producer] of Object.entries(state.view.producers ?? {})) {
    if (producer.cluster !== cluster) continue;
    const paused = producer.state === "paused";
    more.push({ says: paused ? `Resume producer ${name}` : `Pause producer ${name}`, command: { do: paused ? "producer.resume" : "producer.pause", producer: name } });
    more.push({ says: `Publish with ${name}…`, form: { name: "producer.publish", preset: { producer: name } } });
  }
  const alone = watched.clusters.length < 2;
  if (!alone) more.push({ says: "Drop the next marker…", form: { name: "marker.drop", preset: { cluster } } }, { says: "Delay the next marker…", form: { name: "marker.delay", preset: { cluster } } });
  const cursor = topic?.subscriptions?.[watched.subscription];
  const subscription = cursor ? [{ title: watched.subscription, items: subscriptionItems(watched, cluster, cursor, alone) }] : [];
  return [{ title: cluster, items: [...life, ...more] }, ...subscription, ...replicatorGroups(topic, watched, cluster)];
}

/** One group per replication cursor of the topic in the cluster. */
function replicatorGroups(topic, watched, cluster) {
  return Object.keys(topic?.replicators ?? {}).map((to) => {
    const preset = { cluster, topic: watched.topic, to };
    return {
      title: `replicator to ${to}`,
      items: [
        { says: `Skip messages to ${to}…`, form: { name: "replication.skip", preset } },
        { says: `Clear the backlog to ${to}`, harm: true, command: { do: "replication.clear", ...preset } },
        { says: `Expire messages to ${to}…`, form: { name: "replication.expire-messages", preset } },
      ],
    };
  });
}

function subscriptionItems(watched, cluster, cursor, alone) {
  const preset = { subscription: watched.subscription, cluster };
  const items = [];
  if (cluster === watched.subject && watched.target !== null) items.push({ says: "Fail over…", key: "O", harm: true, act: "failOver" });
  if (!alone) items.push({ says: cursor.replicated ? "Disable replication" : "Enable replication", command: { do: "subscription.replicate", ...preset, enabled: !cursor.replicated } });
  items.push({ says: "Reset…", form: { name: "subscription.reset", preset } }, { says: "Skip messages…", form: { name: "subscription.skip", preset } });
  items.push({ says: "Clear the backlog", command: { do: "subscription.clear", ...preset } }, { says: "Expire messages…", form: { name: "subscription.expire-messages", preset } });
  return items;
}

/** @returns {{title: string, items: Item[]}[]} one group per consumer in the cluster */
export function consumerMenu(state, watched, cluster) {
  const consumers = topicView(state, cluster, watched.topic)?.subscriptions?.[watched.subscription]?.consumers ?? {};
  const groups = Object.entries(consumers).map(([name, consumer]) => ({
    title: name,
    items: [
      { says: "Kill", key: "K", harm: true, command: { do: "client.kill", client: name } },
      { says: "Close cleanly", command: { do: "client.close", client: name } },
      consumer.state === "paused" ? { says: "Resume", command: { do: "consumer.resume", consumer: name } } : { says: "Pause", key: "P", command: { do: "consumer.pause", consumer: name } },
      { says: "Hold acknowledgements…", key: "H", form: { name: "consumer.hold", preset: { consumer: name, share: "100%" } } },
      { says: "Ack held messages", command: { do: "consumer.release", consumer: name } },
      { says: "Slow down…", key: "S", form: { name: "consumer.slow", preset: { consumer: name } } },
    ],
  }));
  const idle = (state.welcome?.names?.consumers ?? []).filter((name) => !(name in consumers));
  if (idle.length) groups.push({ title: "not connected here", items: idle.slice(0, 6).map((name) => ({ says: `Start ${name}`, command: { do: "consumer.start", consumer: name } })) });
  return groups;
}

const WHAT = { message: "message", snapshot_request: "request", snapshot_response: "response", snapshot: "snapshot marker", subscription_update: "update" };
/** Number of markers in flight that the menu without a pointer lists. */
const FLIGHTS_LISTED = 6;

const faultOf = (flight) => ({ cluster: flight.from, peer: flight.to, type: flight.what });

/** The fault that drops a marker in flight, given just before it was sent. */
export const dropOf = (flight) => ({ command: { do: "marker.drop", ...faultOf(flight) }, before_us: flight.sent_us });

/** The fault that delays a marker in flight. */
export const delayOf = (flight, by_us) => ({ command: { do: "marker.delay", ...faultOf(flight), by: `${Math.round(by_us / 1000)}ms` }, before_us: flight.sent_us });

/**
 * The faults that delay a message in flight: its link is slow at the instant at which it was sent. A connection keeps its order, so what follows waits for it,
 * like the data behind a packet that TCP sends again.
 * @param {any} flight
 * @param {number} by_us
 * @param {{latency_us: number, slowed: boolean}} shown the link as it is shown now
 */
export function delayMessageOf(flight, by_us, { latency_us, slowed }) {
  const link = `${flight.from} -> ${flight.to}`;
  const slow = (us) => ({ do: "link.slow", link, latency: `${Math.round(us / 1000)}ms` });
  const as_before = slowed ? slow(latency_us) : { do: "link.heal", link };
  return { command: slow(flight.due_us - flight.sent_us + by_us), before_us: flight.sent_us, then: { command: as_before, at_us: flight.sent_us } };
}

/** @returns {{title: string, items: Item[]}[]} of a marker or message in flight */
export function flightMenu(flight) {
  const title = flight.what === "message" ? `${flight.producer}/${flight.number}` : `${WHAT[flight.what]}, marker ${flight.number}`;
  const heading = `${title}, ${flight.from} → ${flight.to}`;
  if (flight.what === "message") {
    const cut = { do: "link.cut", link: `${flight.from} -> ${flight.to}` };
    return [{ title: heading, items: [{ says: `Cut ${flight.from} → ${flight.to} while it is in flight`, key: "X", harm: true, command: cut }, { says: `Crash ${flight.from}`, key: "C", harm: true, command: { do: "cluster.crash", cluster: flight.from } }, { says: `Kill the broker processes of ${flight.from}`, harm: true, command: killProcesses(flight.from) }] }];
  }
  return [
    {
      title: heading,
      items: [
        { says: "Inspect", key: "L", look: { marker: flight.number }, words: "Its JSON as in PIP-33, its bytes, and its path." },
        { says: "Drop it", key: "X", harm: true, ...dropOf(flight) },
        { says: "Delay it by 500 ms", key: "D", ...delayOf(flight, 500_000) },
      ],
    },
  ];
}

/** The menu of "Break…": the same faults without a pointer, and every other command. */
export function breakMenu(state, watched) {
  const up = watched.lanes.filter((cluster) => state.view.clusters[cluster]?.state === "up");
  const down = watched.lanes.filter((cluster) => state.view.clusters[cluster]?.state === "down");
  const pairs = watched.lanes.flatMap((a, at) => watched.lanes.slice(at + 1).map((b) => [a, b]));
  const links = pairs.filter(([a, b]) => state.view.links[`${a} -> ${b}`] || state.view.links[`${b} -> ${a}`]);
  const over = watched.target !== null ? [{ says: "Fail over…", key: "O", harm: true, act: "failOver" }] : [];
  return [
    {
      title: "a region",
      items: [
        ...up.map((cluster) => ({ says: `Crash ${cluster}`, harm: true, command: { do: "cluster.crash", cluster } })),
        ...up.map((cluster) => ({ says: `Kill the broker processes of ${cluster}`, harm: true, command: killProcesses(cluster) })),
        ...down.map((cluster) => ({ says: `Restart ${cluster}`, command: { do: "cluster.restart", cluster } })),
      ],
    },
    {
      title: "a link",
      items: links.flatMap(([a, b]) => {
        const cut = state.view.links[`${a} -> ${b}`]?.state === "cut";
        const link = `${a} <-> ${b}`;
        const partition = cut ? [] : [{ says: `Partition ${a} ↔ ${b}`, harm: true, command: { do: "link.partition", link } }];
        return [{ says: `${cut ? "Heal" : "Cut"} ${a} ↔ ${b}`, harm: !cut, command: { do: cut ? "link.heal" : "link.cut", link } }, ...partition];
      }),
    },
    {
      title: "in flight",
      items: state.flights
        .filter((flight) => flight.what !== "message" && flight.topic === watched.topic)
        .slice(0, FLIGHTS_LISTED)
        .map((flight) => ({ ...flightMenu(flight)[0].items[1], says: `Drop the ${WHAT[flight.what]} ${flight.from} → ${flight.to}`, key: undefined })),
    },
    { title: "more", items: [...over, { says: "Any command…", key: "A", act: "anyCommand" }] },
  ];
}
