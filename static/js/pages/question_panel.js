/** The panels that answer the questions under the sentence: “Why duplicates?” and “What would have helped”. */

import { counted, lowerBound, seconds, whole } from "../model/format.js";
import { headline, inOrder, table } from "../render/what_if_table.js";
import { element } from "../render/dom.js";

/** The failover or group that a panel shows: the newest one that the lab has reached, until the viewer chooses another. @param {{at_us: number}[]} cases of the branch, in order @param {number | null} chosen @returns {number} */
export function chosenCase(cases, chosen, state) {
  if (chosen !== null && chosen < cases.length) return chosen;
  const reached = cases.findLastIndex((one) => one.at_us <= state.at_us);
  return reached < 0 ? cases.length - 1 : reached;
}

/** @param {string} noun name of the cases @param {string[]} labels @returns {HTMLElement[]} a select in its line; empty when there is nothing to choose */
export function caseChooser(document, noun, labels, number, onChoose) {
  if (labels.length < 2) return [];
  const options = labels.map((text, at) => element(document, "option", { value: at, selected: at === number, text }));
  const select = element(document, "select", { "aria-label": `Which ${noun}`, onchange: (event) => onChoose(Number(event.target.value)) }, options);
  return [element(document, "p", {}, [element(document, "label", {}, [`${noun} `, select])])];
}

/**
 * “Why duplicates?”: the messages of a failover or shared group, grouped by outcome and cause.
 * Each message is a button that shows its story. They are requested when the branch was simulated further; during playback at most every
 * few seconds, because counting takes a while.
 */

const PAGE = 60;
const EVERY_MS = 3000;
/** Losses first: they are few and must not be hidden below a long list of duplicates. */
const KIND_ORDER = ["lost", "duplicates", "redeliveries", "stranded"];

/** @type {import("./panels.js").Panel} */
export const WHY_DUPLICATES = { name: "why-duplicates", title: "Why duplicates?", needs: ["peers", "groups"], make: makeWhy };

function makeWhy(section, parts) {
  const { document, requests, base, getState, getWatched, say, wake } = parts;
  section.classList.add("why");
  let answer = null;
  let chosen = null; // number of the failover that the viewer chose
  let key = "";
  let asking = false;
  let asked_ms = -Infinity;

  async function ask(next_key, wall_ms) {
    asking = true;
    asked_ms = wall_ms;
    key = next_key;
    try {
      answer = await requests.get(`${base}why-duplicates.json`);
      write();
    } catch (reason) {
      section.replaceChildren(element(document, "p.quiet", { text: `${reason.message} ${reason.hint ?? ""}` }));
      say({ error: reason.message, hint: reason.hint });
    }
    asking = false;
    wake();
  }

  function write() {
    const { failovers, shared } = answer;
    if (shared.length > 0) {
      const named = chosen === null ? shared.findIndex(({ group }) => group === getWatched().group) : chosen;
      const group = shared[Math.max(0, named)];
      const chooser = caseChooser(document, "group", shared.map((one) => one.group), shared.indexOf(group), (next) => ((chosen = next), write()));
      section.replaceChildren(...chooser, sharedHeadline(document, group), ...groupsOf(parts, group));
      return;
    }
    if (failovers.length === 0) {
      section.replaceChildren(element(document, "p.lead-in", { text: "No failover yet. After one, this panel lists the duplicates in the other region, each with its cause." }), element(document, "p.quiet", { text: "Press O to fail over now, or play on to a failover that the scenario has planned." }));
      return;
    }
    const failover = failovers[chosenCase(failovers, chosen, getState())];
    const labels = failovers.map((one) => `${seconds(one.at_us)} s: ${one.subscription} from ${one.from} to ${one.to}`);
    const chooser = caseChooser(document, "failover", labels, failover.number, (next) => ((chosen = next), write()));
    section.replaceChildren(...chooser, countedOf(document, failover), ...groupsOf(parts, failover));
  }

  section.replaceChildren(element(document, "p.quiet", { text: "Counting…" }));
  return {
    update(state, watched, { wall_ms }) {
      const latest = state.view.failovers.at(-1);
      const wanted = [state.view.branch, state.view.furthest_us, latest?.at_us].join("|");
      if (wanted === key || asking) return;
      const moving = state.playing && wall_ms - asked_ms < EVERY_MS;
      if (!moving) ask(wanted, wall_ms);
    },
  };
}

function countedOf(document, failover) {
  const duplicates = failover.duplicates ? `${lowerBound(failover, "duplicates")} ${failover.duplicates === 1 ? "duplicate" : "duplicates"}` : "no duplicates";
  const open = failover.pending_repeats ? `, still delivering (${counted(failover.pending_repeats, "message")} to be delivered again)` : "";
  const lost = failover.groups.filter(({ kind }) => kind === "lost").reduce((sum, { count }) => sum + count, 0);
  const losses = lost ? [", ", element(document, "b.harm-text", { text: `${counted(lost, "message")} lost` })] : [];
  return element(document, "p.lead-in", {}, [`${failover.subscription} moved from ${failover.from} to ${failover.to} at ${seconds(failover.at_us)} s: `, element(document, failover.duplicates ? "b.harm-text" : "b", { text: duplicates }), open, ...losses, ". Choose a message to see its story."]);
}

function sharedHeadline(document, group) {
  if (group.duplicates === 0) return element(document, "p.lead-in", {}, [`No duplicates in ${group.group} so far.`]);
  return element(document, "p.lead-in", {}, [`${group.group}: `, element(document, "b.harm-text", { text: counted(group.duplicates, "duplicate") }), ", delivered after an acknowledgement of the same message. Choose a message to see its story."]);
}

function groupsOf(parts, failover) {
  if (failover.groups.length === 0 && failover.group !== undefined) return [];
  if (failover.groups.length === 0) return [element(parts.document, "p", { text: "Every message was delivered once, none is missing." })];
  const ordered = [...failover.groups].sort((a, b) => KIND_ORDER.indexOf(a.kind) - KIND_ORDER.indexOf(b.kind) || b.count - a.count);
  return ordered.map((group, place) => groupOf(parts, failover, group, place === 0));
}

function groupOf(parts, failover, group, open) {
  const { document, requests, base, say } = parts;
  const list = element(document, "ul.messages", {});
  const more = element(document, "button.plain", { type: "button", hidden: true });
  const summary = element(document, "summary", {}, [
    element(document, "b.amount", { text: whole(group.count) }),
    element(document, "span", {}, [element(document, "b", { text: group.heading }), element(document, "span.says", { text: group.says })]),
  ]);
  const box = element(document, `details.group.${group.kind}${isHarm(parts.getState(), failover, group) ? ".is-harm" : ""}`, { open }, [summary, list, more]);
  let shown = 0;
  async function fetchMore() {
    try {
      const query = new URLSearchParams({ cause: group.cause, first: String(shown), limit: String(PAGE) });
      const page = await requests.get(`${base}failovers/${failover.number}/${group.kind}.json?${query}`);
      list.append(...page.messages.map((message) => element(document, "li", {}, [messageButton(parts, failover, group, message)])));
      shown += page.messages.length;
      more.hidden = shown >= page.total;
      more.textContent = `${whole(shown)} of ${whole(page.total)} shown: show ${whole(Math.min(PAGE, page.total - shown))} more`;
    } catch (reason) {
      say({ error: reason.message, hint: reason.hint });
    }
  }
  more.addEventListener("click", fetchMore);
  box.addEventListener("toggle", () => box.open && shown === 0 && fetchMore());
  return box;
}

/** Whether a group's messages are duplicates, lost, or unread ones that cannot arrive. What is on the way, or was rightly delivered again, is no harm. */
function isHarm({ view }, failover, { kind }) {
  if (kind !== "stranded") return kind !== "redeliveries";
  return failover.stranded_missing > 0 && view.clusters[failover.from]?.state !== "up";
}

function messageButton({ document, story }, failover, group, message) {
  const name = `${message.producer}/${message.sequence_id}`;
  const when = message.at_us === undefined ? "" : `, delivered at ${seconds(message.at_us)} s`;
  const after = message.returned || message.recovered ? ", delivered later" : message.returned === false ? ", not delivered" : "";
  return element(document, "button.message", { type: "button", "aria-label": `${name}${when}${after}: show its story`, onclick: () => story.open({ failover: failover.number, kind: group.kind, place: message.place }), text: message.returned || message.recovered ? `${name} ↩` : name });
}

/**
 * “What would have helped”: the same seed and failure simulated again with one change at a time.
 * The table is filled while the server runs the variants beside the lab, for each failover or each group. Each row opens as a new lab at
 * the instant of its case.
 */

const ASK_EVERY_MS = 600;
/** @type {import("./panels.js").Panel} */
export const WHAT_IF = { name: "what-if", title: "What would have helped", needs: ["peers", "groups"], simulated: true, make: makeWhatIf };

function makeWhatIf(section, { document, window, requests, base, getState, say, wake }) {
  section.classList.add("what-if");
  const status = element(document, "p.quiet", { role: "status" });
  const content = element(document, "div", {});
  const beside = element(document, "p.quiet", { hidden: true }, [element(document, "a", { href: `${base}compare/`, text: "Compare this run under three strategies" })]);
  section.replaceChildren(content, status, beside);
  const page = { document, base, getState };
  const acts = (line, real) => [opener(page, line, real), ...(line === real ? [] : [" ", besideLink(page, line)])];
  let answer = null;
  let chosen = null;
  let key = "";
  let asking = false;

  async function ask() {
    asking = true;
    try {
      answer = await requests.get(`${base}what-if.json`);
      write();
      if (answer.state === "running" && !section.hidden) window.setTimeout(ask, ASK_EVERY_MS);
      else asking = false;
    } catch (reason) {
      asking = false;
      status.textContent = `${reason.message} ${reason.hint ?? ""}`;
      say({ error: reason.message, hint: reason.hint });
    }
    wake();
  }

  function write() {
    const { done } = answer;
    status.textContent = answer.state === "running" ? `Running ${done + 1} of ${answer.of}: ${answer.running}…` : answer.words;
    status.hidden = !status.textContent;
    if (done === 0) return;
    const { cases } = answer.variants[0];
    beside.hidden = answer.noun !== "failover"; // strategies apply to replicated subscriptions only
    if (cases.length === 0) {
      content.replaceChildren(element(document, "p.lead-in", { text: answer.nothing }));
      return;
    }
    const number = chosenCase(cases, chosen, getState());
    const ordered = inOrder(answer, number);
    const labels = cases.map(({ at_us, label }) => `${seconds(at_us)} s: ${label}`);
    content.replaceChildren(...caseChooser(document, answer.noun, labels, number, (next) => ((chosen = next), write())), ...headline(document, answer, ordered, answer.state === "done"), table(document, answer, ordered, acts));
  }

  status.textContent = "Running it again…";
  return {
    update(state, watched, { loading }) {
      const wanted = [state.view.branch, state.view.furthest_us, state.view.seq].join("|");
      if (asking || loading || wanted === key || (state.playing && answer)) return; // the entries of the picture are requested before the re-runs begin
      key = wanted;
      ask();
    },
  };
}

/** The run with this change and the run as it was, on one clock. */
function besideLink({ document, base, getState }, line) {
  return element(document, "a", { href: `${base}beside/?left=branch-${getState().view.branch}&right=variant-${line.key}`, "aria-label": `compare the run with ${line.name} with the run as it was`, text: "compare" });
}

/** A plain form: it works without scripts and opens in a new tab. */
function opener({ document, base }, line, real) {
  const fields = { key: line.key, at_us: real.at_us };
  return element(document, "form", { method: "post", action: `${base}variants/`, target: "_blank" }, [
    ...Object.entries(fields).map(([name, value]) => element(document, "input", { type: "hidden", name, value })),
    element(document, "button.plain", { type: "submit", "aria-label": `Open the run with ${line.name} as a lab of your own`, text: "open" }),
  ]);
}
