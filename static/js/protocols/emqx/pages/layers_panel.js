/**
 * The panel “Layers”: one client of a group in detail: its handler, agent, borrower and leader.
 * It shows their last calls and messages, and the state machines of borrower and streams, drawn from the tables that the engine runs.
 */

import { counted, seconds, span } from "../../../model/format.js";
import { clientsOf, leaderOf } from "../model/groups.js";
import { element, setText } from "../../../render/dom.js";
import { columnHeads, renew } from "../../../render/terms.js";

/**
 * The four layers of one client of a group, from the view and from the latest rows about the client.
 * They show the chosen borrower and stream, the state of each state machine with its last move, and the last exchanges between
 * neighbouring layers: calls within the session's process, messages outside it.
 */

/** Number of kinds listed for each gap and direction: the last exchange of each kind, newest first. */
const STEPS_SHOWN = 3;

/** @typedef {{client: string, borrower: string | null, stream: string | null}} Member what is shown; a borrower as "session/number" */

/**
 * @param {import("../../../model/state.js").LabState} state
 * @param {string} group
 * @param {Partial<Member>} selection what the viewer chose, applied while it exists
 * @returns {(Member & {clients: string[], borrowers: string[], streams: string[]}) | null}
 */
export function memberOf(state, group, selection) {
  const clients = clientsOf(state, group);
  const busy = clients.find(({ incarnations }) => incarnations.some(({ own }) => own)) ?? clients[0];
  const client = clients.find(({ name }) => name === selection.client) ?? busy;
  if (!client) return null;
  const borrowers = client.incarnations.map(({ id }) => id);
  const borrower = borrowers.includes(selection.borrower) ? selection.borrower : (client.incarnations.findLast(({ own }) => own)?.id ?? borrowers.at(-1) ?? null);
  const all = state.view.groups[group].streams;
  const streams = Object.keys(all);
  const stream = streams.includes(selection.stream) ? selection.stream : (streams.find((name) => all[name].readers[borrower]) ?? streams[0] ?? null);
  return { client: client.name, borrower, stream, clients: clients.map(({ name }) => name), borrowers, streams };
}

const numberOf = (borrower) => (borrower === null ? null : Number(borrower.slice(borrower.lastIndexOf("/") + 1)));

/**
 * @param {object[]} rows by ascending seq
 * @returns {Object<string, {now: string | null, last: {from: string | null, to: string, at_us: number, seq: number, why: string | null} | null, untouched: boolean}>} by machine; untouched: it has not moved yet
 */
export function machinesNow(state, group, member, rows) {
  const { view } = state;
  const one = view.groups[group];
  const leading = leaderOf(one);
  const number = numberOf(member.borrower);
  const own = view.sessions[member.client].borrowers[member.borrower];
  const assigned = leading?.leader.streams[member.stream];
  const leader = leading ? { number: Number(leading.number), state: "leading" } : (one.ended ?? null);
  const of = (type, wanted) => rows.filter((row) => row.type === type && wanted(row)).map((row) => ({ to: row.reason, at_us: row.at_us, seq: row.seq, why: row.detail ?? null }));
  const moves = {
    borrower: of("borrower.changed", (row) => row.client === member.client && row.count === number),
    lease: of("lease.changed", (row) => row.client === member.client && row.count === number && row.topic === member.stream),
    assignment: of("assignment.changed", (row) => row.topic === member.stream && row.ledger === leader?.number),
    leader: rows.filter((row) => row.type.startsWith("leader.") && row.count === leader?.number).map((row) => ({ to: row.type === "leader.elected" ? "leading" : leader.state, at_us: row.at_us, seq: row.seq, why: row.reason })),
  };
  const now = {
    borrower: own?.state ?? (member.borrower === null ? null : "gone"),
    lease: member.stream === null || member.borrower === null ? null : (one.streams[member.stream]?.readers[member.borrower]?.lease ?? "absent"),
    assignment: assigned?.state ?? null,
    leader: leader?.state ?? null,
  };
  return Object.fromEntries(Object.keys(now).map((name) => [name, { now: now[name], untouched: moves[name].length === 0, last: lastOf(moves[name], now[name], state.welcome.tables.machines[name]) }]));
}

/** The last move; null if the state has changed since and the row has not arrived yet. */
function lastOf(moves, now, { start, moves: table }) {
  const last = moves.at(-1);
  if (!last || last.to !== now) return null;
  const before = moves.at(-2)?.to ?? start;
  return { ...last, from: table[before]?.[last.to] === undefined ? null : before };
}

const short = (stream) => stream ?? "all";
const upTo = (row) => (row.entry === undefined ? "to its end" : `up to ${row.entry}`);
const LEASES = { granted: (row) => `read ${row.topic} from ${row.entry ?? "its end"}`, revoking: (row) => `stop reading ${row.topic}`, absent: (row) => `${row.topic} is released` };

/** Rows as exchanges between two layers: gap, whether downwards, text. */
const CALLS = {
  "session.connected": (row) => [["handler", true, `client connected (${row.reason})`]],
  "session.disconnected": (row) => [["handler", true, `client disconnected (${row.reason})`]],
  "session.subscribed": (row) => [["handler", true, `subscribe ${row.detail}`]],
  "session.unsubscribed": (row) => [["handler", true, `unsubscribe ${row.detail}`]],
  "progress.told": (row) => ["handler", "agent"].map((gap) => [gap, true, `${short(row.topic)} acknowledged ${upTo(row)}`]),
  "lease.changed": (row) => ["agent", "handler"].map((gap) => [gap, false, LEASES[row.reason](row)]),
  "borrower.changed": (row) => ({ connecting: [["agent", true, `start${row.detail ? `: ${row.detail}` : ""}`]], unsubscribing: [["agent", true, "unsubscribe"]], gone: [["agent", false, `borrower ended${row.detail ? `: ${row.detail}` : ""}`]] })[row.reason] ?? [],
};
const TO_LEADER = new Set(["leader-wanted", "ping", "update-progress", "revoke-finished", "disconnect"]);

/**
 * The last calls and messages in each gap: below the handler, the agent and the borrower.
 * @param {object[]} rows by ascending seq
 * @param {Member} member
 * @returns {Object<"handler" | "agent" | "borrower", {down: Exchange[], up: Exchange[]}>}
 * @typedef {{kind: string, at_us: number, seq: number, words: string, lost: boolean}} Exchange
 */
export function exchangedBetween(rows, { client, borrower }) {
  const gaps = { handler: { down: [], up: [] }, agent: { down: [], up: [] }, borrower: { down: [], up: [] } };
  const number = numberOf(borrower);
  const lost = new Set(rows.filter((row) => row.type === "protocol.lost").map((row) => row.count));
  const put = (gap, down, row, words, gone = false) => gaps[gap][down ? "down" : "up"].unshift({ kind: `${row.type}|${row.reason}`, at_us: row.at_us, seq: row.seq, words, lost: gone });
  for (const row of rows) {
    if (row.client !== client) continue;
    if (row.type === "protocol.sent") put("borrower", TO_LEADER.has(row.reason), row, `${row.reason}${row.topic ? ` ${row.topic}` : ""}${row.entry === undefined ? "" : ` at ${row.entry}`}`, lost.has(row.count));
    for (const [gap, down, words] of CALLS[row.type]?.(row) ?? []) {
      const another = gap === "agent" && row.count !== number;
      if (!another) put(gap, down, row, words);
    }
  }
  for (const gap of Object.values(gaps)) for (const way of ["down", "up"]) gap[way] = gap[way].filter(({ kind }, at, all) => all.findIndex((one) => one.kind === kind) === at).slice(0, STEPS_SHOWN);
  return gaps;
}

/**
 * The latest rows about one client and one stream of a group.
 * They are requested from the server once, then only what is new. Rows of frames are added in between.
 */

/** Shortest time between two requests during playback, ms. */
const ASK_EVERY_MS = 700;
/** Number of rows of each type and reason, as on the server. */
const KEPT = 4;

/**
 * @param {object} parts
 * @param {(path: string) => Promise<object>} parts.get
 * @param {string} parts.base
 * @param {() => void} parts.onAnswer
 */
export function makeLatest({ get, base, onAnswer }) {
  let held = { key: "", seq: 0, rows: [] };
  let made = { state: null, held: null, rows: [] };
  let asking = false;
  let asked_ms = -Infinity;
  let asked_key = "";

  function ask(about, key) {
    asking = true;
    const query = Object.entries({ ...about, after: held.seq }).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
    get(`${base}latest.json?${query}`)
      .then((answer) => {
        asking = false;
        if (held.key === key && String(answer.branch) === key.split("|")[0]) held = { key, seq: answer.seq, rows: newest([...held.rows, ...answer.rows], about.stream) };
        onAnswer();
      })
      .catch(() => {
        asking = false; // the lab seeks or the connection is lost: a later drawing requests it again
      });
  }

  return {
    /** @returns {object[]} ascending, up to the instant shown; the same list while nothing has changed */
    rows(state, group, { client, stream }, wall_ms) {
      const key = [state.view.branch, group, client, stream].join("|");
      const { seq } = state.view;
      if (held.key !== key || held.seq > seq) held = { key, seq: 0, rows: [] };
      const due = held.seq < seq && (!state.playing || key !== asked_key || wall_ms - asked_ms >= ASK_EVERY_MS);
      if (due && !asking) {
        asked_ms = wall_ms;
        asked_key = key;
        ask({ group, client, stream: stream ?? "" }, key);
      }
      if (made.state !== state || made.held !== held) {
        const fresh = state.rows.filter((row) => row.seq >= held.seq && (row.subscription === group || row.type.startsWith("session.")));
        made = { state, held, rows: [...held.rows, ...fresh].filter((row) => row.seq < seq) };
      }
      return made.rows;
    },
  };
}

/** The latest rows of each type and reason, counted separately for the stream. */
function newest(rows, stream) {
  const counts = new Map();
  const kept = [];
  for (const row of rows.toReversed()) {
    const key = `${row.type}|${row.reason}|${row.topic === stream}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    if (count <= KEPT) kept.push(row);
  }
  return kept.reverse();
}

/**
 * Places the states and moves of a state machine: states in a row in the order of their table, moves as lines or arcs.
 * A move to the next state is straight. A move to a later state is an arc on one side, to an earlier state on the other side; longer
 * arcs are farther out. Turned, the row runs down. Numbers only, px.
 */

const HIGH = 38;
const GAP = 34;
const LETTER = 6.9;
const PADDING = 26;
const ARC = 15;
const ARC_STEP = 10;
const LANDING = 13;

/**
 * @param {{moves: Object<string, Object<string, string>>}} machine as declared by the engine
 * @param {{scale?: number, turned?: boolean}} [given]
 * @returns {{width: number, height: number, nodes: {state: string, x: number, y: number, width: number, height: number, last: boolean}[], edges: {from: string, to: string, words: string, path: string, head: number[], angle: number, middle: number[]}[]}}
 *   `head` is the end of the arrow, `angle` its direction in degrees
 */
export function layMachine({ moves }, { scale: k = 1, turned = false } = {}) {
  const states = Object.keys(moves);
  const place = new Map(states.map((state, at) => [state, at]));
  const edges = states.flatMap((from) => Object.entries(moves[from]).map(([to, words]) => ({ from, to, words, by: place.get(to) - place.get(from) })));
  const reach = (side) => Math.max(0, ...edges.filter((edge) => sideOf(edge) === side).map(outOf)) * k;
  const before = reach(-1) + 6 * k;
  const widths = states.map((state) => Math.max(62, state.length * LETTER + PADDING) * k);
  const widest = Math.max(...widths);
  const nodes = [];
  let along = 4 * k;
  states.forEach((state, at) => {
    const last = Object.keys(moves[state]).length === 0;
    if (turned) nodes.push({ state, x: before, y: along, width: widest, height: HIGH * k, last });
    else nodes.push({ state, x: along, y: before, width: widths[at], height: HIGH * k, last });
    along += (turned ? HIGH * k : widths[at]) + GAP * k;
  });
  const long = along - GAP * k + 4 * k;
  const deep = before + (turned ? widest : HIGH * k) + reach(1) + 6 * k;
  const drawn = edges.map((edge) => ({ ...edge, ...wayOf(edge, nodes, place, ends(edges, edge), k, turned) }));
  return { width: turned ? deep : long, height: turned ? long : deep, nodes, edges: drawn };
}

/** −1: above, or left when turned; 1: below, or right; 0: straight. */
const sideOf = ({ by }) => (by === 1 ? 0 : by > 0 ? -1 : 1);
const outOf = ({ by }) => ARC + ARC_STEP * (Math.abs(by) - 1);

/** Position of an edge among the arcs at the same state and side, counted from the middle, so that their ends do not overlap. */
function ends(edges, edge) {
  const spread = (state) => {
    const here = edges.filter((one) => sideOf(one) === sideOf(edge) && (one.from === state || one.to === state));
    const order = (one) => (one.from === state ? one.by : -one.by); // in the order of the other ends, the longest arc innermost
    const sorted = here.sort((a, b) => Math.sign(order(a)) - Math.sign(order(b)) || order(b) - order(a));
    return sorted.indexOf(edge) - (sorted.length - 1) / 2;
  };
  return { from: spread(edge.from), to: spread(edge.to) };
}

/** Converts a position along the row and one across it to x and y. */
const pointsOf = (turned) => (along, across) => (turned ? [across, along] : [along, across]);

function wayOf(edge, nodes, place, spread, k, turned) {
  const [a, b] = [nodes[place.get(edge.from)], nodes[place.get(edge.to)]];
  return sideOf(edge) === 0 ? straightWay(a, b, turned) : arcWay(edge, a, b, spread, k, turned);
}

function straightWay(a, b, turned) {
  const point = pointsOf(turned);
  const middle = turned ? a.x + a.width / 2 : a.y + a.height / 2;
  const [from, to] = turned ? [a.y + a.height, b.y] : [a.x + a.width, b.x];
  const head = point(to, middle);
  return { path: `M${point(from, middle).join(" ")}L${head.join(" ")}`, head, angle: turned ? 90 : 0, middle: point((from + to) / 2, middle) };
}

function arcWay(edge, a, b, spread, k, turned) {
  const side = sideOf(edge);
  const before = side < 0;
  const point = pointsOf(turned);
  const centre = (node) => (turned ? node.y + node.height / 2 : node.x + node.width / 2);
  const nearSide = (node) => (turned ? node.x : node.y);
  const depth = (node) => (turned ? node.width : node.height);
  const rim = (node) => (before ? nearSide(node) : nearSide(node) + depth(node));
  const landing = (turned ? 9 : LANDING) * k;
  const [from, to] = [centre(a) + spread.from * landing, centre(b) + spread.to * landing];
  const [rim_a, rim_b] = [rim(a), rim(b)];
  const furthest = (before ? Math.min(rim_a, rim_b) : Math.max(rim_a, rim_b)) + side * outOf(edge) * k;
  const corner = Math.min(8 * k, Math.abs(to - from) / 2) * Math.sign(to - from);
  const bend = side * Math.min(8 * k, Math.abs(furthest - rim_a));
  const [m, l, q1, q2, l2, q3, q4, end] = [
    [from, rim_a],
    [from, furthest - bend],
    [from, furthest],
    [from + corner, furthest],
    [to - corner, furthest],
    [to, furthest],
    [to, furthest - bend],
    [to, rim_b],
  ].map(([along, across]) => point(along, across).join(" "));
  const [into_before, into_after] = turned ? [0, 180] : [90, 270];
  return {
    path: `M${m}L${l}Q${q1} ${q2}L${l2}Q${q3} ${q4}L${end}`,
    head: point(to, rim_b),
    angle: before ? into_before : into_after,
    middle: point((from + to) / 2, furthest),
  };
}

/**
 * Draws a state machine from the engine's own table: the present state filled, the last move thick and with a dot.
 * Moves that are possible from the present state are in ink, the others pale. The number under a state is how many are in it. The same as
 * text is the diagram's name for screen readers.
 */

const SVG = "http://www.w3.org/2000/svg";

/** @returns {SVGSVGElement} an empty diagram */
export function makeDiagram(document) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "machine");
  svg.setAttribute("role", "img");
  return svg;
}

/**
 * @param {SVGSVGElement} svg
 * @param {{start: string, moves: object}} machine
 * @param {{name: string, now: string | null, last: {from: string | null, to: string} | null, counts: Object<string, number>, scale: number, turned: boolean}} given
 */
export function drawMachine(document, svg, machine, given) {
  const { now, last, counts, scale } = given;
  const laid = layMachine(machine, given);
  const parts = [];
  const put = (name, attributes, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
    if (text !== undefined) node.textContent = text;
    parts.push(node);
  };
  const moved = (edge) => last !== null && edge.from === last.from && edge.to === last.to;
  const rank = (edge) => (moved(edge) ? 2 : edge.from === now ? 1 : 0); // the most important ones are drawn last
  for (const edge of [...laid.edges].sort((a, b) => rank(a) - rank(b))) {
    const look = ["", "open", "moved"][rank(edge)];
    put("path", { class: `move ${look}`, d: edge.path });
    put("path", { class: `head ${look}`, d: `M0 0L${-7 * scale} ${-3.6 * scale}L${-7 * scale} ${3.6 * scale}Z`, transform: `translate(${edge.head[0]} ${edge.head[1]}) rotate(${edge.angle})` });
    if (moved(edge)) put("circle", { class: "moved", cx: edge.middle[0], cy: edge.middle[1], r: 4 * scale });
  }
  for (const node of laid.nodes) {
    const here = node.state === now ? "now" : "";
    put("rect", { class: `state ${here} ${node.last ? "end" : ""}`, x: node.x, y: node.y, width: node.width, height: node.height, rx: 6 * scale });
    if (node.last) put("rect", { class: `state inner ${here}`, x: node.x + 3 * scale, y: node.y + 3 * scale, width: node.width - 6 * scale, height: node.height - 6 * scale, rx: 4 * scale });
    put("text", { class: `name ${here}`, x: node.x + node.width / 2, y: node.y + 17 * scale }, node.state);
    put("text", { class: `count ${here}`, x: node.x + node.width / 2, y: node.y + 31 * scale }, String(counts[node.state] ?? 0));
  }
  svg.replaceChildren(...parts);
  svg.setAttribute("viewBox", `0 0 ${laid.width} ${laid.height}`);
  svg.setAttribute("width", String(laid.width));
  svg.setAttribute("height", String(laid.height));
  svg.setAttribute("aria-label", wordsOfMachine(machine, given));
}

/** @returns {string} the diagram as text, for screen readers */
function wordsOfMachine({ moves }, { name, now, last, counts }) {
  const states = Object.keys(moves).map((state) => `${state} ${counts[state] ?? 0}`);
  const moved = last ? ` The last move: ${last.from ? `from ${last.from} ` : ""}to ${last.to}.` : "";
  return `${name}: ${now ?? "none"} now.${moved} How many are in each state: ${states.join(", ")}.`;
}

/**
 * Draws the four layers of a client: handler, agent and borrower in the session's process, the leader in its own process.
 * A layer can be expanded. Between two layers are their last exchanges: calls with a solid line, messages, which take time and may be
 * lost, with a dashed one.
 */

/** In sections narrower than this the state machines run down, px. */
const TURNED_BELOW_PX = 560;

const MACHINES = { borrower: ["borrower", "lease"], leader: ["assignment", "leader"] };
const LAYER_NAMES = ["handler", "agent", "borrower", "leader"];
const CARRIERS = { handler: "calls within the session’s process", agent: "calls within the session’s process" };

/**
 * @param {Document} document
 * @param {{onRow: (seq: number) => void, onFold: () => void}} on
 */
export function makeLayers(document, on) {
  const layers = Object.fromEntries(LAYER_NAMES.map((name) => [name, makeLayer(document, name, on)]));
  const gaps = Object.fromEntries(["handler", "agent", "borrower"].map((name) => [name, makeGap(document, name, on)]));
  const session = element(document, "div.process", { role: "group" }, [element(document, "p.process-name", {}), layers.handler.node, gaps.handler.node, layers.agent.node, gaps.agent.node, layers.borrower.node]);
  const leader = element(document, "div.process", { role: "group" }, [element(document, "p.process-name", {}), layers.leader.node]);
  return {
    node: element(document, "div.layers", {}, [session, gaps.borrower.node, leader]),
    /** @param {object} scene state, group, member, machines, exchanges, now_us, theme, width */
    update(scene) {
      const { view } = scene.state;
      const one = view.sessions[scene.member.client];
      const group = view.groups[scene.group];
      const leading = leaderOf(group);
      named(session, `The process of ${scene.member.client}’s session, at ${one.node}`);
      named(leader, leading ? `The process of leader ${leading.number}, at ${leading.leader.node}` : "No leader’s process");
      const texts = summaries(scene, one, group, leading);
      for (const name of LAYER_NAMES) layers[name].update(scene, texts[name]);
      for (const name of Object.keys(CARRIERS)) gaps[name].update(scene.exchanges[name], CARRIERS[name]);
      gaps.borrower.update(scene.exchanges.borrower, carrierOfMessages(one.node, leading?.leader.node));
    },
  };
}

function carrierOfMessages(from, to) {
  if (to === undefined) return "no leader to send messages to";
  return from === to ? `messages within ${from}: in order, no latency` : `messages between ${from} and ${to}: may be late, duplicated or lost`;
}

function named(process, words) {
  setText(process.firstChild, words);
  process.setAttribute("aria-label", words);
}

/** The summary line of each layer. */
function summaries({ state, group: name, member, now_us }, session, group, leading) {
  const borrowers = Object.keys(session.borrowers).filter((id) => session.borrowers[id].group === name);
  const own = session.borrowers[member.borrower];
  const held = Object.values(group.streams).filter(({ readers }) => readers[member.borrower]).length;
  return {
    handler: `${session.state}${session.acks_paused ? ", acknowledges nothing" : ""}, ${counted(session.in_flight, "message")} in flight`,
    agent: `${counted(borrowers.length, "borrower")} of this group${member.borrower && !own ? "; this one is stale" : ""}`,
    borrower: member.borrower === null ? "none" : `${member.borrower}: ${own?.state ?? "gone"}, ${counted(held, "stream")}`,
    leader: stateAtLeader(member, group, leading, { state, now_us }),
  };
}

/** The borrower's entry in the leader's table; for a dead leader, how long its claim is still valid. */
function stateAtLeader({ borrower }, group, leading, { state, now_us }) {
  const left = (until_us, from_us) => span(Math.max(0, until_us - from_us));
  if (!leading) return group.claim ? `dead, claim valid for ${left(group.claim.until_us, state.at_us)} more` : "none";
  const known = leading.leader.borrowers[borrower];
  if (known) return `drops ${borrower} in ${left(known.deadline_us, now_us)} without a ping`;
  return borrower === null ? "no borrower" : `${borrower} is not in its table`;
}

function makeLayer(document, name, { onFold, onRow }) {
  const says = element(document, "span.says", {});
  const summary = element(document, "summary", {}, [element(document, "b", { text: { handler: "Handler", agent: "Agent", borrower: "Borrower", leader: "Leader" }[name] }), says]);
  const body = element(document, "div.inside", {});
  const node = element(document, `details.layer`, { open: name in MACHINES, "data-layer": name, ontoggle: onFold }, [summary, body]);
  const machines = (MACHINES[name] ?? []).map((machine) => makeMachine(document, machine, onRow));
  const facts = element(document, "div.facts", {});
  body.append(facts, element(document, "div.machines", {}, machines.map((one) => one.node)));
  let written = "";
  return {
    node,
    update(scene, words) {
      setText(says, words);
      if (!node.open) return;
      for (const machine of machines) machine.update(scene);
      const rows = FACTS[name](scene);
      const key = JSON.stringify(rows);
      if (key === written) return;
      written = key;
      if (rows.lines.length) renew(facts, [tableOf(document, rows)]);
      else facts.replaceChildren(...(rows.none ? [element(document, "p.quiet", { text: rows.none })] : []));
    },
  };
}

const tableOf = (document, { head, lines }) =>
  element(document, "table", {}, [
    element(document, "thead", {}, [element(document, "tr", {}, columnHeads(document, head))]),
    element(document, "tbody", {}, lines.map(([first, ...rest]) => element(document, "tr", {}, [element(document, "th", { text: first, scope: "row" }), ...rest.map((text) => element(document, "td", { text: String(text) }))]))),
  ]);

const LISTED = 40;
const TIMERS = { "find-leader": "next attempt to find a leader", ping: "next ping", "ping-timeout": "ping timeout", unsubscribe: "unsubscribe timeout" };

/** The table that each layer shows when it is expanded. */
const FACTS = {
  handler({ state, group, member }) {
    const streams = state.view.groups[group].streams;
    const lines = Object.entries(streams).flatMap(([stream, { readers }]) => Object.entries(readers).filter(([id]) => id.startsWith(`${member.client}/`)).map(([id, one]) => [stream, id, one.chunk ? `${one.chunk[0]} to ${one.chunk[1] - 1}` : "–", one.delivered, one.acknowledged]));
    return { head: ["stream in its scheduler", "leased to", "chunk", "delivered", "acknowledged"], lines: lines.slice(0, LISTED), none: "It reads no stream of the group." };
  },
  agent({ state, group, member }) {
    const lines = Object.entries(state.view.sessions[member.client].borrowers).filter(([, one]) => one.group === group).map(([id, one]) => [id, one.state, one.streams, one.leader || "–"]);
    return { head: ["borrower", "state", "streams", "leader"], lines, none: "It has no borrower of the group." };
  },
  borrower({ state, member, now_us }) {
    const timers = state.view.sessions[member.client].borrowers[member.borrower]?.timers ?? {};
    return { head: ["timer", "in"], lines: Object.entries(timers).map(([name, due_us]) => [TIMERS[name], span(Math.max(0, due_us - now_us))]), none: "" };
  },
  leader({ state, group, member }) {
    const leading = leaderOf(state.view.groups[group]);
    const one = leading?.leader.borrowers[member.borrower];
    return { head: ["borrower", "streams", "target", "stable"], lines: one ? [[member.borrower, one.streams, one.target, one.stable ? "yes" : "no"]] : [], none: "" };
  },
};

/** A state machine with its present state, its last move and its possible next moves as text. */
function makeMachine(document, name, onRow) {
  const svg = makeDiagram(document);
  const title = element(document, "h3", {});
  const latest = element(document, "p.latest-row", {});
  const next = element(document, "ul.next", {});
  let drawn = "";
  return {
    node: element(document, "section.machine-of", {}, [title, svg, latest, next]),
    update({ state, group, member, machines, theme, width }) {
      const { now, last, untouched } = machines[name];
      const machine = state.welcome.tables.machines[name];
      const counts = state.view.groups[group].states[name];
      const words = titleOf(name, state, group, member);
      const turned = width < TURNED_BELOW_PX;
      const key = JSON.stringify([words, now, last?.seq, untouched, counts, turned, theme.scale]);
      if (key === drawn) return;
      drawn = key;
      setText(title, words);
      drawMachine(document, svg, machine, { name: words, now, last, counts, scale: theme.scale, turned });
      latest.replaceChildren(...latestWords(document, now === null ? NONE[name] : now, now === null ? null : { last, untouched }, onRow));
      next.replaceChildren(...Object.entries(machine.moves[now] ?? {}).map(([to, why]) => element(document, "li", {}, [element(document, "b", { text: to }), `: ${why}`])));
    },
  };
}

function titleOf(name, state, group, { borrower, stream }) {
  const leading = leaderOf(state.view.groups[group]);
  const leader = leading ? `leader ${leading.number}` : "the leader";
  return { borrower: `Borrower ${borrower ?? ""}`.trim(), lease: `${stream ?? "No stream"} at borrower ${borrower ?? ""}`.trim(), assignment: `${stream ?? "No stream"} at ${leader}`, leader: leader[0].toUpperCase() + leader.slice(1) }[name];
}

const NONE = { borrower: "No borrower.", lease: "No borrower that could read it.", assignment: "Not in a leader's table.", leader: "No leader so far." };

function latestWords(document, now, latest, onRow) {
  if (latest === null) return [now];
  const { last, untouched } = latest;
  const state = element(document, "b", { text: now });
  if (!last) return [state, untouched ? " since the start." : " since just now."];
  const since = element(document, "button.plain", { type: "button", title: "Highlight its causes", onclick: () => onRow(last.seq), text: `${seconds(last.at_us)} s` });
  return [state, " since ", since, `${last.from ? `, from ${last.from}` : ""}${last.why ? `: ${last.why}` : ""}`];
}

/** The exchanges between two layers. */
function makeGap(document, name, { onRow }) {
  const carrier = element(document, "span.carrier", {});
  const lists = { down: element(document, "ol.exchanges", { "aria-label": "Calls and messages downwards, newest first" }), up: element(document, "ol.exchanges", { "aria-label": "Calls and messages upwards, newest first" }) };
  const node = element(document, `div.gap.by-${name === "borrower" ? "messages" : "calls"}`, {}, [element(document, "span.wire", { "aria-hidden": "true" }), carrier, element(document, "div.ways", {}, ["down", "up"].map((way) => element(document, `div.${way}`, {}, [element(document, "span.arrow", { "aria-hidden": "true", text: way === "down" ? "↓" : "↑" }), lists[way]])))]);
  let written = "";
  return {
    node,
    update(exchanges, words) {
      setText(carrier, words);
      const key = JSON.stringify(exchanges);
      if (key === written) return;
      written = key;
      for (const way of ["down", "up"]) lists[way].replaceChildren(...(exchanges[way].length ? exchanges[way].map((one) => element(document, "li", {}, [element(document, "button", { type: "button", onclick: () => onRow(one.seq) }, [element(document, "time", { text: `${seconds(one.at_us, 2)} s` }), element(document, one.lost ? "span.harm-text" : "span", { text: one.lost ? `${one.words}: lost` : one.words })])])) : [element(document, "li.quiet", { text: "nothing yet" })]));
    },
  };
}

/** @type {import("../../../pages/panels.js").Panel} */
export const LAYERS = { name: "layers", title: "Layers", needs: "sessions", make };

function make(section, { document, requests, base, lights, wake }) {
  section.classList.add("layers-panel");
  /** @type {{client?: string, borrower?: string, stream?: string}} */
  let selection = {};
  let known = {}; // what is shown, computed once per state
  const choices = { client: choiceOf("client", "client"), borrower: choiceOf("borrower", "borrower"), stream: choiceOf("stream", "stream") };
  const bar = element(document, "div.bar", {}, Object.values(choices));
  const none = element(document, "p.quiet", { text: "No group is declared yet.", hidden: true });
  const latest = makeLatest({ get: requests.get, base, onAnswer: wake });
  const layers = makeLayers(document, { onRow: (seq) => lights.row(seq), onFold: wake });
  const key = element(document, "p.quiet.key", { text: "Filled: current state. Thick, with a dot: last transition. In full colour: possible transitions. Number: how many of the group are in that state (end states: so far)." });
  section.replaceChildren(bar, none, layers.node, key);

  function choiceOf(name, text) {
    return element(document, "label.which-one", { text: `${text} ` }, [element(document, "select", { onchange: (event) => choose(name, event.target.value) })]);
  }

  function choose(name, value) {
    /** @type {{client?: string, borrower?: string, stream?: string}} */
    const { client, borrower, stream } = { ...selection, [name]: value };
    selection = { client, borrower: name === "client" ? undefined : borrower, stream: name === "stream" ? stream : undefined }; // the other choices then follow from this one
    wake();
  }

  function lookAt(state, group, wall_ms) {
    if (known.state !== state || known.selection !== selection || known.group !== group) known = { state, selection, group, member: group === null ? null : memberOf(state, group, selection), rows: null };
    if (known.member === null) return null;
    const rows = latest.rows(state, group, known.member, wall_ms);
    if (rows !== known.rows) Object.assign(known, { rows, machines: machinesNow(state, group, known.member, rows), exchanges: exchangedBetween(rows, known.member) });
    return known;
  }

  function offer(label, names, value) {
    const select = label.querySelector("select");
    label.hidden = names.length === 0;
    const options = select.options;
    if (options.length !== names.length || names.some((name, at) => options[at].value !== name)) {
      select.replaceChildren(...names.map((name) => element(document, "option", { value: name, text: name })));
    }
    if (value !== null && select.value !== value) select.value = value;
  }

  return {
    update(state, watched, { theme, wall_ms, now_us }) {
      const before = known;
      const found = lookAt(state, watched.group, wall_ms);
      none.hidden = found !== null;
      bar.hidden = layers.node.hidden = key.hidden = found === null;
      if (found === null) return;
      const { member, machines, exchanges } = found;
      if (found !== before) for (const [name, names] of Object.entries({ client: member.clients, borrower: member.borrowers, stream: member.streams })) offer(choices[name], names, member[name]);
      layers.update({ state, group: watched.group, member, machines, exchanges, now_us, theme, width: section.clientWidth });
    },
  };
}
