/**
 * The panel “Layers”: one client of a group in detail: its handler, agent, borrower and leader.
 * It shows their last calls and messages, and the state machines of borrower and streams, drawn from the tables that the engine runs.
 */

import { makeLatest } from "../model/latest.js";
import { machinesNow, memberOf, exchangedBetween } from "../model/layers.js";
import { element } from "../../../render/dom.js";
import { makeLayers } from "../render/layers.js";

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
