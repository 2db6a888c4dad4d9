/**
 * The panel “Why duplicates?”: the messages of a failover or shared group, grouped by outcome and cause.
 * Each message is a button that shows its story. They are requested when the branch was simulated further; during playback at most every
 * few seconds, because counting takes a while.
 */

import { counted, lowerBound, seconds, whole } from "../model/format.js";
import { element } from "../render/dom.js";
import { caseChooser, chosenCase } from "../render/case_chooser.js";

const PAGE = 60;
const EVERY_MS = 3000;
/** Losses first: they are few and must not be hidden below a long list of duplicates. */
const KIND_ORDER = ["lost", "duplicates", "redeliveries", "stranded"];

/** @type {import("./panel_list.js").Panel} */
export const WHY_DUPLICATES = { name: "why-duplicates", title: "Why duplicates?", needs: ["peers", "groups"], make };

function make(section, parts) {
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
    section.replaceChildren(...chooser, headline(document, failover), ...groupsOf(parts, failover));
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

function headline(document, failover) {
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
