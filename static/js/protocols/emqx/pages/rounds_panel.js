/** The panel “Rebalances”: the timers of the leader, whether the group is stable, and its costs so far. */

import { seconds, span } from "../../../model/format.js";
import { leaderOf } from "../model/groups.js";
import { badgeOf, figuresOf, roundsOf, timersOf } from "../model/rounds.js";
import { element, setText } from "../../../render/dom.js";
import { renew, termLink } from "../../../render/terms.js";
import { paintClock } from "../render/rounds_clock.js";

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
