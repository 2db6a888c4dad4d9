/**
 * “Layers”: one client of a group from inside: its handler, agent and borrower and the leader beyond, what they told each other last, and the state
 * machines of borrower and streams, drawn from the tables that the engine runs.
 */

import { makeLatest } from "../model/latest.js";
import { machinesNow, memberOf, toldBetween } from "../model/layers.js";
import { element } from "../render/dom.js";
import { makeLayers } from "../render/layers.js";

/** @type {import("./panel_list.js").Panel} */
export const LAYERS = { name: "layers", title: "Layers", needs: "sessions", make };

function make(section, { document, requests, base, lights, wake }) {
  section.classList.add("layers-panel");
  const wish = {};
  const choices = { client: choiceOf("client", "client"), borrower: choiceOf("borrower", "borrower"), stream: choiceOf("stream", "stream") };
  const bar = element(document, "div.bar", {}, Object.values(choices));
  const none = element(document, "p.quiet", { text: "No group shares anything here yet.", hidden: true });
  const latest = makeLatest({ get: requests.get, base, onAnswer: wake });
  const layers = makeLayers(document, { onRow: (seq) => lights.row(seq), onFold: wake });
  const key = element(document, "p.quiet.key", { text: "Filled: the state now. Thick, with a dot: the last move. Dark: moves open from here. The number: how many of the group are in that state; those that ended, so far." });
  section.replaceChildren(bar, none, layers.node, key);

  function choiceOf(name, text) {
    return element(document, "label.which-one", { text: `${text} ` }, [element(document, "select", { onchange: (event) => choose(name, event.target.value) })]);
  }

  function choose(name, value) {
    wish[name] = value;
    if (name === "client") delete wish.borrower;
    if (name !== "stream") delete wish.stream; // what this one reads
    wake();
  }

  function offer(label, names, value) {
    const select = label.querySelector("select");
    label.hidden = names.length === 0;
    const key_of = names.join("|");
    if (select.dataset.names !== key_of) {
      select.dataset.names = key_of;
      select.replaceChildren(...names.map((name) => element(document, "option", { value: name, text: name })));
    }
    if (value !== null && select.value !== value) select.value = value;
  }

  return {
    update(state, watched, { theme, wall_ms, now_us }) {
      const member = watched.group === null ? null : memberOf(state, watched.group, wish);
      none.hidden = member !== null;
      bar.hidden = layers.node.hidden = key.hidden = member === null;
      if (member === null) return;
      offer(choices.client, member.clients, member.client);
      offer(choices.borrower, member.borrowers, member.borrower);
      offer(choices.stream, member.streams, member.stream);
      const rows = latest.rows(state, watched.group, member, wall_ms);
      layers.update({ state, group: watched.group, member, now_us, theme, width: section.clientWidth, machines: machinesNow(state, watched.group, member, rows), told: toldBetween(rows, member) });
    },
  };
}
