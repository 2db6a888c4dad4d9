/**
 * The panel “Forecast”: what a failover would cost at each instant, per remote, beside the cost of the actual failovers.
 * It also shows the lag of each remote and why no snapshot is requested now. While it is shown, its data is requested a few times per second.
 */

import { lowerBound, seconds, span, whole } from "../../../model/format.js";
import { grown, lastOf, noPoints, upTo } from "../model/risk_points.js";
import { element } from "../../../render/dom.js";
import { columnHeads, renew, termLink } from "../../../render/terms.js";
import { CHART_EVERY_MS, chartWords, lineWords, makeForecastChart, stripsOf } from "../render/forecast_chart.js";
import { rulesOf } from "../render/snapshot_rules.js";

const EVERY_MS = 300;
const FIGURES = [
  ["duplicates", "duplicates"],
  ["not replicated", "stranded"],
  ["lost", "lost"],
];
/** Figures that are marked when they are not 0. What is not replicated is on the way while its region is up, as in the headline. */
const HARM = new Set(["duplicates", "lost"]);
const isHarm = (name, value) => HARM.has(name) && value > 0;

/** @type {import("../../../pages/panels.js").Panel} */
export const FORECAST = { name: "forecast", title: "Forecast", needs: "peers", simulated: true, make };

function make(section, { document, window, requests, base, getState, getWatched, say, wake, plotly }) {
  const { now_table, lines, picture, caption, outcomes, rules } = skeleton(document, section);
  const chart = makeForecastChart(picture, plotly);
  let points = noPoints();
  let answer = null;
  const whole_run = makeWholeRun(requests, base);
  let key = "";
  let asking = false;
  let asked_ms = -Infinity;
  let later = null; // timer of the next drawing

  async function ask(wanted, wall_ms) {
    asking = true;
    asked_ms = wall_ms;
    key = wanted;
    const { subscription, topic } = getWatched();
    try {
      const { view, playing } = getState();
      // when paused all points are requested: points thinned step by step would differ from those of a page opened at this instant
      const known = playing && points.branch === view.branch && points.subscription === subscription ? points : noPoints(view.branch, subscription);
      answer = await requests.get(`${base}forecast/${encodeURIComponent(subscription)}/${encodeURIComponent(topic)}.json?after_us=${lastOf(known)}`);
      if (answer.branch === known.branch) points = grown(upTo(known, answer.at_us), answer.curve);
      if (!getState().playing) await whole_run.ask(getState().view);
      write();
    } catch (reason) {
      say({ error: reason.message, hint: reason.hint });
    }
    asking = false;
    wake();
  }

  const failovers = () => {
    const { playing, view } = getState();
    return ((!playing && whole_run.failovers()) || view.failovers).filter((one) => one.subscription === getWatched().subscription);
  };

  function write() {
    const watched = getWatched();
    renew(now_table, [nowTable(document, answer, watched)]);
    renew(outcomes, outcomeTable(document, failovers()));
    caption.textContent = captionOf(points, failovers(), watched.subscription);
    lines.textContent = lineWords(points, watched.target);
    picture.setAttribute("aria-label", chartWords(answer.now, failovers()));
    rules.replaceChildren(element(document, "h2", {}, [termLink(document, "Why no snapshot now?", "snapshot controller")]), ...rulesOf(document, answer.rules, watched.subject, answer.at_us));
  }

  now_table.append(element(document, "p.quiet", { text: "Asking…" }));
  return {
    update(state, watched, { theme, wall_ms }) {
      const wanted = [state.view.branch, state.at_us, state.view.seq, state.view.furthest_us, watched.subscription, watched.topic].join("|");
      if (wanted !== key && !asking && (!state.playing || wall_ms - asked_ms >= EVERY_MS)) ask(wanted, wall_ms);
      const owed = chart.update({ points, failovers: failovers(), target: watched.target, now_us: state.at_us, width: picture.clientWidth }, theme, wall_ms);
      if (owed && later === null) later = window.setTimeout(() => ((later = null), wake()), CHART_EVERY_MS);
    },
  };
}

function nowTable(document, answer, watched) {
  const peers = Object.keys(answer.now);
  if (peers.length === 0) return element(document, "p", { text: `No other region could take over ${watched.subscription}.` });
  const head = element(document, "tr", {}, columnHeads(document, [[`if ${watched.subject} failed now`, "forecast"], ...FIGURES.map(([text]) => text), "sync lag"]));
  const rows = peers.map((peer) => {
    const one = answer.now[peer];
    return element(document, "tr", {}, [
      element(document, "th", { scope: "row", text: peer }),
      ...FIGURES.map(([, name]) => element(document, isHarm(name, one[name]) ? "td.harm-text" : "td", { text: whole(one[name]) })),
      element(document, "td", { text: one.lag_us ? span(one.lag_us) : "0 ms" }),
    ]);
  });
  return element(document, "table.now-figures", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]);
}

function outcomeTable(document, happened) {
  if (happened.length === 0) return [];
  const head = element(document, "tr", {}, columnHeads(document, ["forecast → actual", ...FIGURES.map(([text]) => text)]));
  const rows = happened.map((one) =>
    element(document, "tr", {}, [
      element(document, "th", { scope: "row", text: `${one.from} → ${one.to}, ${seconds(one.at_us)} s` }),
      ...FIGURES.map(([, name]) => element(document, "td", {}, [`${whole(one.forecast?.[name] ?? 0)} → `, element(document, isHarm(name, one[name]) ? "b.harm-text" : "b", { text: lowerBound(one, name) })])),
    ]),
  );
  const table = element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]);
  const agrees = happened.every((one) => FIGURES.every(([, name]) => (one.forecast?.[name] ?? 0) === (one[name] ?? 0)));
  return agrees ? [table] : [table, element(document, "p.quiet", { text: "The forecast assumes that nothing more arrives from the failed region. Where the actual figure differs, messages or acknowledgements arrived later after all, or had not been delivered by the end of the run." })];
}

/** The failovers of the whole branch with their outcomes, including those after the instant shown. */
function makeWholeRun(requests, base) {
  let key = "";
  let failovers = null;
  return {
    failovers: () => failovers,
    async ask({ branch, furthest_us, failovers: known }) {
      const wanted = [branch, furthest_us, known.length].join("|");
      if (wanted === key) return;
      ({ failovers } = await requests.get(`${base}why-duplicates.json`));
      key = wanted;
    },
  };
}

/** The panel's parts, empty. */
function skeleton(document, section) {
  section.classList.add("forecast");
  const now_table = element(document, "div", {});
  const picture = element(document, "div.curves", { role: "img" });
  const lines = element(document, "p.quiet.lines", {});
  const caption = element(document, "p.quiet", {});
  const outcomes = element(document, "div.scrolls", {});
  const rules = element(document, "div.why-none", {});
  section.replaceChildren(element(document, "div", {}, [now_table, lines, picture, caption, outcomes]), rules);
  return { now_table, lines, picture, caption, outcomes, rules };
}

function captionOf(points, failovers, subscription) {
  if (!points.at_us.length) return "The curve grows as the lab plays.";
  const shown = new Set(stripsOf(points, failovers).map(({ name }) => name));
  const never = FIGURES.filter(([, name]) => !shown.has(name)).map(([text]) => text);
  return `Each point: forecast if the region that consumes ${subscription} failed at that instant.${never.length ? ` Always 0: ${never.join(", ")}.` : ""} Ring: forecast at a failover. Dot: actual.`;
}
