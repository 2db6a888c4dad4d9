/**
 * Draws the four layers of a client: handler, agent and borrower in the session's process, the leader in its own process.
 * A layer can be expanded. Between two layers are their last exchanges: calls with a solid line, messages, which take time and may be
 * lost, with a dashed one.
 */

import { leaderOf } from "../model/groups.js";
import { counted, seconds, span } from "../../../model/format.js";
import { element, setText } from "../../../render/dom.js";
import { columnHeads, renew } from "../../../render/terms.js";
import { drawMachine, makeDiagram } from "./machine_diagram.js";

/** In sections narrower than this the state machines run down, px. */
const TURNED_BELOW_PX = 560;

const MACHINES = { borrower: ["borrower", "lease"], leader: ["assignment", "leader"] };
const LAYERS = ["handler", "agent", "borrower", "leader"];
const CARRIERS = { handler: "calls within the session’s process", agent: "calls within the session’s process" };

/**
 * @param {Document} document
 * @param {{onRow: (seq: number) => void, onFold: () => void}} on
 */
export function makeLayers(document, on) {
  const layers = Object.fromEntries(LAYERS.map((name) => [name, makeLayer(document, name, on)]));
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
      for (const name of LAYERS) layers[name].update(scene, texts[name]);
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
