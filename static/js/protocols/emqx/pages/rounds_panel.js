/** The panel “Rebalances”: the timers of the leader, whether the group is stable, and its costs so far. */

import { seconds, span } from "../../../model/format.js";
import { badgeOf, figuresOf, leaderOf, roundsOf, timersOf } from "../model/groups.js";
import { prepared } from "../../../render/canvas.js";
import { element, setText } from "../../../render/dom.js";
import { renew, termLink } from "../../../render/terms.js";
import { fontOf } from "../../../render/theme.js";

/**
 * Draws the clock of a leader's timers: a ring for each timer, with the remaining time as an arc from the top and a hand at its end.
 * A timer that was armed more than once has several hands.
 */

const TURN = 2 * Math.PI;
const TOP = -Math.PI / 2;
const RING_PX = 17;

/** @param {HTMLCanvasElement} canvas */
export function paintClock(canvas, theme, { timers, count, now_us, size, ratio }) {
  const context = prepared(canvas, size, size, ratio);
  const [middle, k] = [size / 2, theme.scale];
  const outer = middle - 7 * k;
  timers.forEach(({ whole_us, due_us }, place) => {
    const radius = outer - place * RING_PX * k;
    ring(context, middle, radius, 0, 1, theme.ink.line, 5 * k);
    const shares = due_us.map((us) => Math.max(0, Math.min(1, (us - now_us) / whole_us)));
    if (shares.length) ring(context, middle, radius, 0, Math.max(...shares), place === 0 ? theme.ink.proto : theme.ink.soft, 5 * k);
    for (const share of shares) hand(context, middle, radius, share, theme, k);
  });
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = theme.ink.ink;
  context.font = fontOf(theme, 20 * k, 650);
  context.fillText(count === null ? "–" : String(count), middle, middle - 4 * k);
  context.font = fontOf(theme);
  context.fillStyle = theme.ink.ink2;
  context.fillText(count === 1 ? "round" : "rounds", middle, middle + 13 * k);
}

function ring(context, middle, radius, from, to, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  context.arc(middle, middle, radius, TOP + from * TURN, TOP + to * TURN);
  context.stroke();
}

function hand(context, middle, radius, share, theme, k) {
  const [dx, dy] = [Math.cos(TOP + share * TURN), Math.sin(TOP + share * TURN)];
  context.strokeStyle = theme.ink.ink;
  context.lineWidth = 2 * k;
  context.beginPath();
  context.moveTo(middle + dx * (radius - 6 * k), middle + dy * (radius - 6 * k));
  context.lineTo(middle + dx * (radius + 6 * k), middle + dy * (radius + 6 * k));
  context.stroke();
}

const CLOCK_PX = 150;
const LISTED = 6;

/** @type {import("../../../pages/panels.js").Panel} */
export const ROUNDS = { name: "rounds", title: "Rebalances", needs: "groups", make };

function make(section, { document, lights }) {
  section.classList.add("rounds");
  const canvas = element(document, "canvas", { "aria-hidden": "true" });
  const badge = element(document, "p.badge", {});
  const timers = element(document, "dl.timers", {});
  const figures = element(document, "dl.figures-now", { "aria-label": "Figures so far" });
  const rounds = element(document, "ol.round-list", {});
  const clock = element(document, "div.clock", {}, [canvas, element(document, "div", {}, [badge, timers])]);
  const list = element(document, "section.last-rounds", {}, [element(document, "h3", {}, [termLink(document, "Rebalances with changes")]), rounds]);
  const none = element(document, "p.quiet", { text: "No group is declared yet." });
  section.replaceChildren(none, clock, figures, list);
  let written = {};

  /** Rewrites a list only when its content has changed. */
  function write(name, content, make_nodes, into) {
    const key = JSON.stringify(content);
    if (written[name] === key) return;
    written[name] = key;
    if (into === rounds) into.replaceChildren(...make_nodes(content));
    else renew(into, make_nodes(content));
  }

  const pairs = (lines) => lines.flatMap(([name, value]) => [element(document, "dt", {}, [termLink(document, name)]), element(document, "dd", { text: value })]);
  const figuresNodes = (lines) => lines.map(({ name, value, note, harm }) => element(document, "div", {}, [element(document, "dt", {}, [termLink(document, name)]), element(document, harm ? "dd.value.harm-text" : "dd.value", { text: value }), element(document, "dd.note", { text: note })]));
  const roundNodes = (lines) => (lines.length ? lines.map(({ at_us, seq, words }) => element(document, "li", {}, [element(document, "button", { type: "button", title: "Highlight its causes", onclick: () => lights.row(seq) }, [element(document, "time", { text: `${seconds(at_us, 2)} s` }), ` ${words}`])])) : [element(document, "li.quiet", { text: "None so far." })]);

  return {
    update(state, watched, { theme, ratio, now_us }) {
      const group = state.view.groups?.[watched.group];
      none.hidden = group !== undefined;
      clock.hidden = figures.hidden = list.hidden = group === undefined;
      if (!group) return;
      const found = timersOf(state, watched.group);
      const { stable, words } = badgeOf(group);
      badge.classList.toggle("stable", stable);
      setText(badge, words);
      paintClock(canvas, theme, { timers: found, count: leaderOf(group)?.leader.rounds.count ?? null, now_us, size: CLOCK_PX * theme.scale, ratio });
      const left = ({ due_us }) => (due_us.length === 0 ? "no timer" : due_us.map((us) => span(Math.max(0, us - now_us))).join(", "));
      write("timers", found.length ? found.map((timer) => [timer.name, `in ${left(timer)}`]) : [["no leader", "no streams are assigned"]], pairs, timers);
      write("figures", figuresOf(group), figuresNodes, figures);
      write("rounds", roundsOf(state.kept.rounds, watched.group, LISTED), roundNodes, rounds);
    },
  };
}
