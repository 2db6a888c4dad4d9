/**
 * The panel “Forecast”: what a failover would cost at each instant, per remote, beside the cost of the actual failovers.
 * It also shows the lag of each remote and why no snapshot is requested now. While it is shown, its data is requested a few times per second.
 */

import { counted, lowerBound, seconds, span, whole } from "../../../model/format.js";
import { element } from "../../../render/dom.js";
import { plainChart } from "../../../render/plotly.js";
import { columnHeads, renew, termLink } from "../../../render/terms.js";

/** The forecast's curve as the page holds it: columns by remote, extended by the server's points after the last held one. */

export const POINTS_KEPT = 6000;
export const FIGURES = ["duplicates", "stranded", "lost", "lag_us"];

/**
 * @typedef {object} RiskPoints
 * @property {number | null} branch
 * @property {string} subscription
 * @property {number[]} at_us ascending
 * @property {Object<string, Object<string, (number | null)[]>>} peers by remote and figure; null where the cluster was not a remote
 */

/** @returns {RiskPoints} */
export const noPoints = (branch = null, subscription = "") => ({ branch, subscription, at_us: [], peers: {} });

/** @returns {number} the instant after which points are requested, before the last one, which a command may have changed */
export const lastOf = (points) => Math.max(0, (points.at_us.at(-1) ?? 0) - 1);

/** @returns {RiskPoints} the points up to an instant: later ones are not shown after a seek back */
export function upTo(points, at_us) {
  const count = points.at_us.findLastIndex((one) => one <= at_us) + 1;
  if (count === points.at_us.length) return points;
  const peers = Object.fromEntries(Object.entries(points.peers).map(([peer, columns]) => [peer, Object.fromEntries(FIGURES.map((name) => [name, columns[name].slice(0, count)]))]));
  return { ...points, at_us: points.at_us.slice(0, count), peers };
}

/**
 * @param {RiskPoints} points
 * @param {{at_us: number[], peers: object}} added answer of forecast.json
 * @returns {RiskPoints} a new value; the older half is thinned when there are too many
 */
export function grown(points, added) {
  if (added.at_us.length === 0) return points;
  const known = upTo(points, added.at_us[0] - 1);
  /** @type {Object<string, Object<string, (number | null)[]>>} */
  const peers = {};
  for (const peer of new Set([...Object.keys(known.peers), ...Object.keys(added.peers)])) {
    peers[peer] = Object.fromEntries(
      FIGURES.map((name) => [name, [...(known.peers[peer]?.[name] ?? known.at_us.map(() => null)), ...(added.peers[peer]?.[name] ?? added.at_us.map(() => null))]]),
    );
  }
  const all = { ...known, at_us: [...known.at_us, ...added.at_us], peers };
  return all.at_us.length > POINTS_KEPT ? thinned(all) : all;
}

function thinned(points) {
  const half = points.at_us.length >> 1;
  const keep = (_, at) => at >= half || at % 2 === 0;
  const peers = Object.fromEntries(Object.entries(points.peers).map(([peer, columns]) => [peer, Object.fromEntries(FIGURES.map((name) => [name, columns[name].filter(keep)]))]));
  return { ...points, at_us: points.at_us.filter(keep), peers };
}

/** @returns {boolean} whether a figure was ever above 0, forecast or actual */
export const isEverAboveZero = (points, failovers, name) =>
  Object.values(points.peers).some((columns) => columns[name].some((value) => value > 0)) || failovers.some((one) => one[name] > 0 || one.forecast?.[name] > 0);

/**
 * Draws the forecast's curves with Plotly: one strip per figure over the same time, with a line per remote.
 * Actual failovers are marked with their forecast (ring) and actual figure (dot). It is redrawn at most a few times per second, and only
 * when something has changed.
 */

export const CHART_EVERY_MS = 300;
const STRIP_PX = 92;
const TOP_PX = 36;
const NAME_PX = 84;
const BOTTOM_PX = 26;
const GAP = 0.12;

const STRIPS = [
  { name: "duplicates", title: "duplicates", always: true },
  { name: "stranded", title: "not replicated" },
  { name: "lost", title: "lost" },
  { name: "lag_us", title: "sync lag, s", always: true },
];

/** @returns {typeof STRIPS} the figures with something to show */
export const stripsOf = (points, failovers) => STRIPS.filter(({ name, always }) => always || isEverAboveZero(points, failovers, name));

/** @param {HTMLElement} element @param {() => object | undefined} plotly */
export function makeForecastChart(element, plotly) {
  let drawn = "";
  let drawn_ms = -Infinity;
  return {
    /**
     * @param {{points: object, failovers: object[], target: string | null, now_us: number, width: number}} given
     * @returns {boolean} whether a further drawing is needed
     */
    update(given, theme, wall_ms) {
      const library = plotly();
      if (!library || given.width < 40) return false;
      const { points, failovers } = given;
      const key = JSON.stringify([points.branch, points.subscription, points.at_us.length, points.at_us.at(-1), failovers.map((one) => [one.at_us, one.duplicates, one.stranded, one.lost]), given.target, given.now_us, given.width, theme.ink.bg, theme.scale]);
      if (key === drawn) return false;
      if (wall_ms - drawn_ms < CHART_EVERY_MS) return true;
      drawn = key;
      drawn_ms = wall_ms;
      const strips = stripsOf(points, failovers);
      const height = TOP_PX + BOTTOM_PX + strips.length * (STRIP_PX + 18) * theme.scale;
      element.style.height = `${height}px`;
      library.react(element, tracesOf(strips, given, theme), layoutOf(strips, given, theme, height), { displayModeBar: false, responsive: false, scrollZoom: false, doubleClick: false });
      return false;
    },
  };
}

/** Remotes in the order of their lines: the watched target first, then by name. */
const peersOf = (points, target) => Object.keys(points.peers).sort((one, other) => Number(other === target) - Number(one === target) || one.localeCompare(other));
const DASHES = ["solid", "dash", "dot"];
const DASH_WORDS = ["solid", "dashed", "dotted"];

/** @returns {string} the dashes of the remotes' lines, when there are several */
export function lineWords(points, target) {
  const peers = peersOf(points, target);
  return peers.length < 2 ? "" : peers.map((peer, place) => `${DASH_WORDS[place % 3]} ${peer}`).join(", ");
}

const axisOf = (at) => (at === 0 ? "" : String(at + 1));

function tracesOf(strips, { points, failovers, target }, theme) {
  const x = points.at_us.map((us) => us / 1e6);
  const peers = peersOf(points, target);
  const lines = strips.flatMap(({ name }, at) =>
    peers.map((peer, place) => {
      const lag = name === "lag_us";
      const colours = lag ? [theme.ink.proto, theme.ink.soft] : [theme.ink.harm, theme.ink.harmSoft];
      return {
        x,
        y: points.peers[peer][name].map((value) => (value === null ? null : lag ? value / 1e6 : value)),
        name: peer,
        type: "scatter",
        mode: "lines",
        yaxis: `y${axisOf(at)}`,
        line: { shape: lag ? "linear" : "hv", color: colours[place === 0 ? 0 : 1], width: (place === 0 ? 1.8 : 1.2) * theme.scale, dash: DASHES[place % 3] },
        hovertemplate: lag ? `sync lag of ${peer}: %{y:.3f} s<extra>%{x:.3f} s</extra>` : `%{y} in ${peer}<extra>%{x:.3f} s</extra>`,
      };
    }),
  );
  return [...lines, ...strips.flatMap(({ name }, at) => (name === "lag_us" ? [] : marksOf(name, at, failovers, theme)))];
}

/** Marks each failover by a ring at the forecast figure and a dot at the actual one; when they are equal the dot is in the ring. */
function marksOf(name, at, failovers, theme) {
  const x = failovers.map((one) => one.at_us / 1e6);
  const text = failovers.map((one) => `${one.from} to ${one.to}: forecast ${one.forecast?.[name] ?? "–"}, actual ${one[name] ?? "–"}`);
  const common = { x, text, type: "scatter", mode: "markers", yaxis: `y${axisOf(at)}`, hovertemplate: "%{text}<extra></extra>" };
  return [
    { ...common, y: failovers.map((one) => one.forecast?.[name] ?? null), marker: { symbol: "circle-open", size: 13 * theme.scale, color: theme.ink.ink, line: { width: 1.6 * theme.scale } } },
    { ...common, y: failovers.map((one) => one[name] ?? null), marker: { symbol: "circle", size: 6 * theme.scale, color: theme.ink.ink } },
  ];
}

function layoutOf(strips, { points, failovers, now_us, width }, theme, height) {
  const from = (points.at_us[0] ?? 0) / 1e6;
  const to = Math.max(points.at_us.at(-1) ?? 0, now_us, ...failovers.map((one) => one.at_us), 1e6) / 1e6;
  const font = { size: theme.label, color: theme.ink.ink3 };
  const axes = {};
  strips.forEach(({ name }, at) => {
    const top = 1 - at / strips.length;
    axes[`yaxis${axisOf(at)}`] = { domain: [top - (1 - GAP * 1.6) / strips.length, top - (GAP * 1.2) / strips.length], range: [0, topOf(name, points, failovers) * 1.12], showgrid: false, zeroline: true, zerolinecolor: theme.ink.line, nticks: 3, fixedrange: true, tickfont: font };
  });
  const line = (us, colour, dash) => ({ type: "line", x0: us / 1e6, x1: us / 1e6, yref: "paper", y0: 0, y1: 1, layer: "below", line: { color: colour, width: 1.2 * theme.scale, dash } });
  const titles = strips.map(({ title }, at) => ({ text: title, xref: "paper", x: 0, yref: "paper", y: 1 - at / strips.length, xanchor: "left", yanchor: "top", showarrow: false, font: { size: theme.label, color: theme.ink.ink2 } }));
  const pixel = (us) => ((us / 1e6 - from) / Math.max(1e-6, to - from)) * (width - 44 * theme.scale);
  const close = failovers.map((one, at) => at > 0 && pixel(one.at_us) - pixel(failovers[at - 1].at_us) < NAME_PX * theme.scale);
  const raised = close.reduce((rows, near, at) => [...rows, near && !rows[at - 1]], []); // two names close to each other are on different lines
  const names = failovers.map((one, at) => ({ text: `to ${one.to}`, x: one.at_us / 1e6, yref: "paper", y: 1, yshift: raised[at] ? 13 * theme.scale : 0, yanchor: "bottom", xanchor: "center", showarrow: false, font: { size: theme.label, color: theme.ink.harm } }));
  return {
    width,
    height,
    margin: { l: 34 * theme.scale, r: 10, t: TOP_PX * theme.scale, b: BOTTOM_PX * theme.scale },
    ...plainChart(theme),
    xaxis: { range: [from, to + (to - from) * 0.015], anchor: `y${axisOf(strips.length - 1)}`, ticksuffix: " s", showgrid: false, zeroline: false, fixedrange: true, tickfont: font, showline: true, linecolor: theme.ink.strong },
    shapes: [...failovers.map((one) => line(one.at_us, theme.ink.harm, "dot")), line(now_us, theme.ink.ink, "solid")],
    annotations: [...titles, ...names],
    ...axes,
  };
}

function topOf(name, points, failovers) {
  let top = name === "lag_us" ? 0.1 : 4;
  for (const columns of Object.values(points.peers)) for (const value of columns[name]) top = Math.max(top, name === "lag_us" ? value / 1e6 : value);
  for (const one of failovers) top = Math.max(top, name === "lag_us" ? 0 : Math.max(one[name] ?? 0, one.forecast?.[name] ?? 0));
  return top;
}

/** @returns {string} the chart as text, for screen readers */
export function chartWords(now, failovers) {
  const peers = Object.entries(now).map(([peer, one]) => `${peer}: ${counted(one.duplicates, "duplicate")}, ${one.stranded} not replicated, ${one.lost} lost, sync lag ${one.lag_us ? span(one.lag_us) : "0 ms"}`);
  const moved = failovers.map((one) => `at ${seconds(one.at_us)} s to ${one.to}, forecast ${one.forecast?.duplicates ?? "none"}, actual ${counted(one.duplicates ?? 0, "duplicate")}`);
  return `Forecast over time. Now ${peers.join("; ") || "no region could take over"}.${moved.length ? ` Failovers: ${moved.join("; ")}.` : ""}`;
}

/** Explains why no snapshot is requested now: the conditions of the tick in order, the one that fails, and what would change that. */

/**
 * @param {Object<string, object>} rules by cluster, from forecast.json
 * @param {string} subject the cluster that is shown first
 * @returns {HTMLElement[]}
 */
export function rulesOf(document, rules, subject, at_us) {
  const others = Object.keys(rules).filter((name) => name !== subject);
  const first = rules[subject] ? [headline(document, subject, rules[subject], at_us), questions(document, rules[subject]), until(document, rules[subject])].filter(Boolean) : [];
  return [...first, ...others.map((name) => element(document, "details.other-region", {}, [element(document, "summary", { text: shortly(name, rules[name]) }), questions(document, rules[name]), until(document, rules[name])].filter(Boolean)))];
}

function headline(document, name, found, at_us) {
  if (found.stopped_by) return element(document, "p.lead-in", {}, [element(document, "b", { text: `${name} skips the next snapshot.` })]);
  return element(document, "p.lead-in", {}, [`Nothing blocks the next snapshot: ${name} requests it at ${seconds(found.next_tick_us)} s, in ${span(found.next_tick_us - at_us)}.`]);
}

function shortly(name, found) {
  return found.stopped_by ? `${name} skips the next snapshot too` : `${name} requests its next snapshot at ${seconds(found.next_tick_us)} s`;
}

function questions(document, found) {
  return element(
    document,
    "ol.rules",
    {},
    found.rules.map((rule) => element(document, `li.${rule.holds ? "holds" : "stops"}`, {}, [element(document, "span.sr", { text: rule.holds ? "Yes: " : "No: " }), rule.words])),
  );
}

const until = (document, found) => (found.stopped_by ? element(document, "p.until", {}, [element(document, "b", { text: "What would unblock it: " }), found.until]) : null);

const EVERY_MS = 300;
const HEADED_FIGURES = [
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
  const head = element(document, "tr", {}, columnHeads(document, [[`if ${watched.subject} failed now`, "forecast"], ...HEADED_FIGURES.map(([text]) => text), "sync lag"]));
  const rows = peers.map((peer) => {
    const one = answer.now[peer];
    return element(document, "tr", {}, [
      element(document, "th", { scope: "row", text: peer }),
      ...HEADED_FIGURES.map(([, name]) => element(document, isHarm(name, one[name]) ? "td.harm-text" : "td", { text: whole(one[name]) })),
      element(document, "td", { text: one.lag_us ? span(one.lag_us) : "0 ms" }),
    ]);
  });
  return element(document, "table.now-figures", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]);
}

function outcomeTable(document, happened) {
  if (happened.length === 0) return [];
  const head = element(document, "tr", {}, columnHeads(document, ["forecast → actual", ...HEADED_FIGURES.map(([text]) => text)]));
  const rows = happened.map((one) =>
    element(document, "tr", {}, [
      element(document, "th", { scope: "row", text: `${one.from} → ${one.to}, ${seconds(one.at_us)} s` }),
      ...HEADED_FIGURES.map(([, name]) => element(document, "td", {}, [`${whole(one.forecast?.[name] ?? 0)} → `, element(document, isHarm(name, one[name]) ? "b.harm-text" : "b", { text: lowerBound(one, name) })])),
    ]),
  );
  const table = element(document, "table", {}, [element(document, "thead", {}, [head]), element(document, "tbody", {}, rows)]);
  const agrees = happened.every((one) => HEADED_FIGURES.every(([, name]) => (one.forecast?.[name] ?? 0) === (one[name] ?? 0)));
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
  const never = HEADED_FIGURES.filter(([, name]) => !shown.has(name)).map(([text]) => text);
  return `Each point: forecast if the region that consumes ${subscription} failed at that instant.${never.length ? ` Always 0: ${never.join(", ")}.` : ""} Ring: forecast at a failover. Dot: actual.`;
}
