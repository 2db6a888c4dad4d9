/**
 * Shows refusals and errors as notices until dismissed, and lasting states as banners.
 * Lasting states are a lost connection, a violated check, a reached limit. Their banners disappear with the state.
 */

import { sentence } from "../model/format.js";
import { element, required, setText } from "../render/dom.js";

const SHOWN = 3;

export function makeNotices(document, root) {
  const list = required(root, "[data-part=notices]");
  const banners = required(root, "[data-part=banners]");
  const shown = new Map();

  return {
    /** @param {{error: string, hint?: string, tone?: "harm" | "plain"}} notice */
    say({ error, hint = "", tone = "harm" }) {
      const close = element(document, "button.close", { type: "button", "aria-label": "dismiss", text: "×", onclick: () => item.remove() });
      const item = element(document, `li.notice.${tone}`, {}, [element(document, "p", {}, [element(document, "b", { text: sentence(error) }), hint ? ` ${sentence(hint)}` : ""]), close]);
      for (const other of [...list.children]) if (other.textContent === item.textContent) other.remove();
      list.prepend(item);
      while (list.children.length > SHOWN) list.lastChild.remove();
    },
    /**
     * @param {string} name identifies the lasting state
     * @param {string | null} words null removes the banner
     * @param {"harm" | "plain"} tone
     * @param {{href: string, text: string} | null} link
     */
    banner(name, words, tone = "harm", link = null) {
      const old = shown.get(name);
      if (!words) {
        old?.remove();
        shown.delete(name);
        return;
      }
      if (old) {
        if (old.firstChild.textContent !== words) old.firstChild.textContent = words;
        return;
      }
      const made = element(document, `p.banner.${tone}`, {}, [element(document, "span", { text: words }), ...(link ? [" ", element(document, "a", { href: link.href, text: link.text })] : [])]);
      shown.set(name, made);
      banners.append(made);
    },
    clear: () => list.replaceChildren(),
  };
}

/**
 * The notices about the state of the page itself: connection, skipped frames, work in progress, violated check, internal error.
 * They are shown over the controls. Lasting states stay; notices about past events disappear.
 */

const BUSY = { rebuild: "Rebuilding the lab by running it again", seek: "Seeking", step: "Running to the next step", count: "Counting the run", instant: "Running a long instant" };
/** How long a notice about a past event is shown, ms. */
const SHOWN_MS = 6000;

export function makeStates({ document, root, window, notices, getState }) {
  let missed = 0;
  let was_down = false;
  const timers = new Map(); // by name: a repeated notice is shown for the whole time again

  function passing(name, words) {
    window.clearTimeout(timers.get(name));
    notices.banner(name, null);
    notices.banner(name, words, "plain");
    timers.set(name, window.setTimeout(() => notices.banner(name, null), SHOWN_MS));
  }

  return {
    update(state) {
      const broken = state.view.violations?.[0];
      notices.banner("check", broken ? `Check violated at ${(broken.at_us / 1e6).toFixed(3)} s: ${broken.claim}. ${broken.reason}` : null);
      notices.banner("limit", state.view.limit_reached || null);
      if (state.missed > missed) passing("missed", `This page was too slow for ${state.missed - missed} frames and shows the current state instead.`);
      missed = state.missed;
    },
    receive(message) {
      if (message.type === "frame" || message.type === "busy") {
        const busy = message.type === "busy" ? message : message.busy;
        notices.banner("busy", busy ? `${BUSY[busy.doing] ?? "Working"}: at ${((busy.at_us ?? message.at_us) / 1e6).toFixed(2)} s${busy.to_us ? ` of ${(busy.to_us / 1e6).toFixed(2)} s` : ""}…` : null, "plain");
      }
      const bug = message.type === "welcome" ? message.failed : message.code === "engine-bug" ? message : null;
      if (bug) notices.banner("bug", `${bug.error} ${bug.hint ?? ""} Seed ${bug.seed}, at ${((bug.at_us ?? 0) / 1e6).toFixed(6)} s.`, "harm", bug.replay ? { href: bug.replay, text: "Run it again" } : null);
      if (message.type === "notice") notices.banner(message.code, message.words, message.replay ? "harm" : "plain", message.replay ? { href: message.replay, text: "Run it again" } : null);
      if (message.type === "bye") notices.banner("bye", `The server closed the connection: ${message.reason ?? "no reason given"}.`);
      if (message.type !== "welcome") return;
      notices.banner("bye", null);
      setText(required(document, "title"), `${message.title ?? message.scenario} · Failover Lab`);
    },
    /** Page and server differ in wire version: the lab cannot be shown. @param {string} words the difference */
    differs(words) {
      setText(required(root, "[data-part=sentence]"), "This lab cannot be shown on this page.");
      notices.banner("line", null);
      notices.banner("version", `${words} Server and page differ in version. Reload the page. If this message stays, update the server's files and restart it. The lab itself is unchanged.`, "harm", { href: "", text: "Reload" });
    },
    /** @param {"connecting" | "open" | "waiting" | "closed"} word */
    connection(word, wait_ms) {
      root.dataset.line = word; // the picture is paler while it may be out of date
      const words = { connecting: getState().view ? "Reconnecting…" : null, waiting: `Connection lost, reconnecting in ${((wait_ms ?? 0) / 1000).toFixed(1)} s.`, open: null, closed: "Closed." };
      notices.banner("line", words[word] ?? null);
      if (word === "open" && was_down) passing("again", "Reconnected: this is the current state.");
      was_down = word === "waiting" || (was_down && word === "connecting");
    },
  };
}

/** The hint for a first visit: a lab at instant 0 explains how to start playback. */

/** @param {HTMLElement} root @param {() => void} play */
export function makeBeginning(root, play) {
  const line = required(root, "[data-part=begin]");
  required(line, "button").addEventListener("click", play);
  return {
    /** @param {import("../model/state.js").LabState} state */
    update(state) {
      const hidden = state.at_us > 0 || state.playing || !state.welcome?.owner;
      if (line.hidden !== hidden) line.hidden = hidden;
    },
  };
}
