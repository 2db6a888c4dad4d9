/**
 * The panel “Layers”: one client of a group in detail: its handler, agent, borrower and leader.
 * It shows their last calls and messages, and the state machines of borrower and streams, drawn from the tables that the engine runs.
 */

import { counted, seconds, span } from "../../../model/format.js";
import { leaderOf } from "../model/groups.js";
import { exchangedBetween, machinesNow, makeLatest, memberOf } from "../model/layers.js";
import { element, setText } from "../../../render/dom.js";
import { columnHeads, renew } from "../../../render/terms.js";

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
    /** @param {object} scene state, group, member, machines (of model/layers.js), exchanges, now_us, theme, width */
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
