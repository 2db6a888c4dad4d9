/**
 * The panel “Messages between nodes”: messages between leader and borrowers of a group, with leases and their expiry.
 * Leaders and sessions are vertical lines, time runs down. The messages are also listed as text. A chosen message highlights its causal
 * cone everywhere on the page.
 */

import { counted, seconds, whole } from "../../../model/format.js";
import { marksOf } from "../../../model/marks.js";
import { makeWindows } from "../../../model/windows.js";
import { clientsOf } from "../model/groups.js";
import { FAMILY_OF, foldNodeMessages, leaderLine, sessionLine, wordsOfMessage } from "../model/node_messages.js";
import { MARKS } from "../model/row_words.js";
import { AXIS_PX, paintNodeMessages } from "../render/node_message_diagram.js";
import { element, setText } from "../../../render/dom.js";
import { spanFor, timePanned, timeZoomed, turned } from "../../../render/time_axes.js";
import { listenToTime } from "../../../render/time_section.js";

/** Arranges the vertical lines of the diagram of messages: half of the sessions, the leaders, the other half. */

/** Width of one line, px; smaller on a narrow page. */
const LINE_PX = 104;
const NARROW_LINE_PX = 88;
const NARROW_PX = 560;

/** @returns {string[]} sessions of the group */
export const sessionsOf = (state, group) => clientsOf(state, group).map(({ name }) => name);

/**
 * @param {import("../../../model/state.js").LabState} state
 * @param {string} group
 * @param {{messages: any[], borrowers: any[], leaders: any[]}} folded messages, borrowers and leaders of the window
 * @param {{start_us: number, span_us: number}} window
 * @param {{width: number, axis_px: number, scale: number, first_session: number}} room
 * @returns {{lines: {name: string, title: string, note: string}[], first: number, shown: number, count: number, fit: number}}
 *   `count` sessions exist, `shown` of them have a line, from index `first`; `fit` is the number for which there is room
 */
export function columnsOf(state, group, folded, window, { width, axis_px, scale, first_session }) {
  const named = [...folded.messages, ...folded.borrowers].map(({ client }) => client);
  const names = [...new Set([...sessionsOf(state, group), ...named])].sort();
  const nodes = leaderNodes(state.view.groups[group].claim, folded, window);
  const fit = Math.max(1, Math.floor((width - axis_px) / ((width < NARROW_PX ? NARROW_LINE_PX : LINE_PX) * scale)) - nodes.length);
  const first = Math.max(0, Math.min(first_session, names.length - fit));
  const sessions = names.slice(first, first + fit);
  const half = Math.ceil(sessions.length / 2);
  const line = (name) => ({ name: sessionLine(name), title: name, note: state.view.sessions[name]?.state === "online" ? state.view.sessions[name].node : "offline" });
  const leaders = nodes.map((node) => ({ name: leaderLine(node), title: "leader", note: `at ${node}` }));
  return { lines: [...sessions.slice(0, half).map(line), ...leaders, ...sessions.slice(half).map(line)], first, shown: sessions.length, count: names.length, fit };
}

/** Nodes with a leader or a leader's message in the window; without any, the node that has the claim. */
function leaderNodes(claim, { leaders, messages }, window) {
  const end_us = window.start_us + window.span_us;
  const here = leaders.filter(({ from, until }) => from.at_us <= end_us && (until === null || until.at_us >= window.start_us)).map(({ node }) => node);
  const with_messages = messages.flatMap(({ from, to, sent }) => (sent.at_us >= window.start_us && sent.at_us <= end_us ? [from, to] : [])).filter((name) => name.startsWith("leader ")).map((name) => name.slice(7));
  const nodes = [...new Set([...here, ...with_messages])].sort();
  return nodes.length ? nodes : claim ? [claim.node] : [];
}

/** The controls around the diagram of messages: kinds to show, spreading, pages of sessions, zoom, and the list as text. */

const FAMILIES = ["connect", "ping", "grant", "progress", "revoke", "leave"];
const LISTED_WORDS = 200;
const KEY_WORDS = "Left of a session’s line: until when the leader keeps it (indigo) and until when it keeps reading without a ping response (grey), dotted up to the timeout; crimson: between the two, two sessions may read one stream. Right: its leases, dashed while revoking. Ring around a tail: resent. Dashes: delayed. Fork: duplicated. Cross: lost. On the leader’s line: ring is a rebalance, diamond a commit.";

function makeButton(document, text, name, onclick) {
  return element(document, "button", { type: "button", "aria-label": name, title: name, text, onclick });
}

/** @param {Document} document @param {(name: string) => boolean} onToggle returns whether the kind is shown now */
export function makeKinds(document, onToggle) {
  const press = (name, button) => button.setAttribute("aria-pressed", String(onToggle(name)));
  const buttons = FAMILIES.map((name) => element(document, `button.kind-${name}`, { type: "button", "aria-pressed": "true", onclick: (event) => press(name, event.currentTarget), text: name }));
  return element(document, "span.kinds", { role: "group", "aria-label": "Messages shown" }, buttons);
}

/** @param {Document} document @param {() => boolean} onToggle returns whether time is to scale now */
export function makeSpread(document, onToggle) {
  const title = "Draw messages of one instant one below the other, or time to scale";
  return element(document, "button", { type: "button", "aria-pressed": "true", text: "spread instants", title, onclick: (event) => event.currentTarget.setAttribute("aria-pressed", String(!onToggle())) });
}

/** @param {Document} document @param {Object<string, () => void>} acts */
export function makeZoom(document, acts) {
  const button = (text, name, act) => makeButton(document, text, name, () => acts[act]());
  const buttons = [button("↑", "Earlier", "earlier"), button("↓", "Later", "later"), button("−", "Zoom out on time", "reduceTime"), button("now", "Follow latest", "followTime"), button("+", "Zoom in on time", "magnifyTime")];
  return element(document, "span.zoom", { role: "group", "aria-label": "Zoom of time" }, buttons);
}

/** Shows the sessions page by page. @param {Document} document @param {(sessions: number) => void} onTurn receives the number of sessions to move by */
export function makePager(document, onTurn) {
  let fit = 1;
  const [before, after] = [makeButton(document, "‹", "Sessions before", () => onTurn(-fit)), makeButton(document, "›", "Sessions after", () => onTurn(fit))];
  const place = element(document, "span", {});
  const node = element(document, "span.pager", {}, [before, place, after]);
  return {
    node,
    /** @param {{first: number, shown: number, count: number, fit: number}} columns */
    offer(columns) {
      const { first, shown, count } = columns;
      fit = columns.fit;
      node.hidden = count <= fit;
      setText(place, `${whole(first + 1)}–${whole(first + shown)} of ${counted(count, "session")}`);
      before.disabled = first === 0;
      after.disabled = first + fit >= count;
    },
  };
}

/** The messages as a list of texts, updated while it is open. @param {Document} document @param {{wake: () => void, onChoose: (seq: number) => void}} on */
export function makeListing(document, { wake, onChoose }) {
  const list = element(document, "ol", {});
  const node = element(document, "details.in-words", { ontoggle: () => wake() }, [element(document, "summary", { text: "As text" }), list]);
  let listed = "";
  const lineOf = (message) => element(document, "li", {}, [element(document, "button.plain", { type: "button", text: `${seconds(message.sent.at_us)} s: ${wordsOfMessage(message)}`, onclick: () => onChoose(message.seq) })]);
  return {
    node,
    /** @param {object[]} messages @param {string} key changes with the messages */
    update(messages, key) {
      const wanted = `${key}|${node.open}`;
      if (!node.open || wanted === listed) return;
      listed = wanted;
      const more = messages.length - LISTED_WORDS;
      list.replaceChildren(...messages.slice(0, LISTED_WORDS).map(lineOf), ...(more > 0 ? [element(document, "li.quiet", { text: `${whole(more)} more: zoom in to see them.` })] : []));
    },
  };
}

/** @param {Document} document @returns {HTMLElement} the legend of the diagram */
export const makeKey = (document) => element(document, "p.quiet.key", { text: KEY_WORDS });

const NEAR_PX = 9;
/** Lowest diagram that is made to fit into what is in view, and the space below it, px. */
const LOWEST_PX = 110;
const BELOW_PX = 8;
const KEY_PART = 0.25;
/** Number of sessions above which the request names the sessions. */
const MOST_LINES = 32;
const NOTHING = foldNodeMessages();
const PICTURE_LABEL = "Messages between nodes: arrow up and down move in time, plus and minus zoom; the list below has the same as text";

/** @type {import("../../../pages/panels.js").Panel} */
export const NODE_MESSAGES = { name: "node-messages", title: "Messages between nodes", needs: "sessions", family: "durable-shared-subscriptions", make };

/**
 * What the panel shows. Its controls and each drawing change it.
 *
 * @typedef {object} Shown
 * @property {string | null} group
 * @property {Set<string>} hidden kinds of messages that are not shown
 * @property {boolean} even whether time is to scale
 * @property {number} first_session
 * @property {import("../../../render/time_axes.js").TimeWindow | null} window
 * @property {number} now_us
 * @property {string} drawn key of everything that a drawing depends on
 * @property {any[]} places positions of the messages in the picture
 * @property {(y: number) => number} usAt
 * @property {any[]} messages those of the window, as drawn
 */

function make(section, { document, window: page, requests, base, link, lights, wake }) {
  section.classList.add("node-messages");
  /** @type {Shown} */
  const shown = { group: null, hidden: new Set(), even: false, first_session: 0, window: null, now_us: 0, drawn: "", places: [], usAt: () => 0, messages: [] };
  const windows = makeWindows({
    get: requests.get,
    address: (from_us, to_us, about) => `${base}node-messages.json?from_us=${from_us}&to_us=${to_us}&${about}`,
    take: (answer) => ({ folded: answer.bins ? NOTHING : foldNodeMessages(answer.rows, answer.again, answer.before) }),
    onAnswer: wake,
  });
  const { pan, zoomBy, acts } = makeTime(shown, redraw);
  const kinds = makeKinds(document, (name) => {
    const is_shown = shown.hidden.delete(name);
    if (!is_shown) shown.hidden.add(name);
    redraw();
    return is_shown;
  });
  const spread = makeSpread(document, () => {
    shown.even = !shown.even;
    redraw();
    return shown.even;
  });
  const pager = makePager(document, (sessions) => {
    shown.first_session += sessions;
    redraw();
  });
  const says = element(document, "p.says", {});
  const canvas = element(document, "canvas", { "aria-hidden": "true" });
  const picture = element(document, "div.lines", { tabindex: 0, role: "group", "aria-label": PICTURE_LABEL, onkeydown: (event) => onKey(event, acts) }, [canvas]);
  const listing = makeListing(document, { wake, onChoose: lights.row });
  const key = makeKey(document);
  section.replaceChildren(element(document, "div.bar", {}, [kinds, spread, pager.node, says, makeZoom(document, acts)]), picture, key, listing.node);
  listenToPicture(picture, shown, { pan, zoomBy, lights, link });

  function redraw() {
    shown.drawn = "";
    wake();
  }

  return {
    acts,
    update(state, watched, given) {
      shown.now_us = given.now_us;
      if (watched.group !== shown.group) [shown.group, shown.first_session] = [watched.group, 0];
      picture.hidden = key.hidden = listing.node.hidden = shown.group === null;
      if (shown.group === null) return setText(says, "No group is declared yet.");
      shown.window = turned(shown.window, shown.now_us, spanFor(state.playing ? state.speed : 0));
      const asked = askFor(state, shown, windows, given.wall_ms);
      if (draw(state, shown, { canvas, picture, pager }, { ...given, ...asked, page, version: windows.version() })) setText(says, wordsOf(shown, asked));
      return listing.update(shown.messages, shown.drawn);
    },
  };
}

/** Panning and zooming in time. @param {Shown} shown @param {() => void} redraw */
function makeTime(shown, redraw) {
  function change(next) {
    shown.window = next;
    redraw();
  }
  const pan = (part) => shown.window && change(timePanned(shown.window, part * shown.window.span_us));
  const zoomBy = (direction, around_us = shown.now_us) => shown.window && change(timeZoomed(shown.window, direction, around_us));
  const acts = { earlier: () => pan(-KEY_PART), later: () => pan(KEY_PART), magnifyTime: () => zoomBy(1), reduceTime: () => zoomBy(-1), followTime: () => change(null) };
  return { pan, zoomBy, acts };
}

function onKey(event, acts) {
  const act = { ArrowUp: "earlier", ArrowDown: "later", "+": "magnifyTime", "=": "magnifyTime", "-": "reduceTime", Home: "followTime" }[event.key];
  if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  acts[act]();
}

/** @param {HTMLElement} picture @param {Shown} shown */
function listenToPicture(picture, shown, { pan, zoomBy, lights, link }) {
  /** The message near a point, if there is one. */
  function messageAt(x, y) {
    const [near] = shown.places.map((place) => ({ place, far: farFrom(place, x, y) })).sort((a, b) => a.far - b.far);
    return near && near.far < NEAR_PX ? near.place.message : null;
  }
  listenToTime(picture, {
    vertical: true,
    onPan: (by_px) => pan(-by_px / Math.max(1, picture.clientHeight)),
    onZoom: (direction, y) => zoomBy(direction, shown.usAt(y)),
    onClick: (x, y) => {
      const message = messageAt(x, y);
      if (message) lights.row(message.seq);
    },
    onDouble: (y) => link.seek(shown.usAt(y)),
    onHover: (x, y) => {
      const message = messageAt(x, y);
      picture.style.cursor = message ? "pointer" : "";
      picture.title = message ? wordsOfMessage(message) : "";
    },
  });
}

/** @returns {{covered: boolean, held: any}} the newest answer; requests another one if it does not cover the window */
function askFor(state, { group, window, first_session }, windows, wall_ms) {
  const all = Object.keys(state.view.sessions).length <= MOST_LINES;
  const clients = all ? [] : sessionsOf(state, group).slice(first_session, first_session + MOST_LINES);
  const about = [`group=${encodeURIComponent(group)}`, ...clients.map((name) => `client=${encodeURIComponent(name)}`)].join("&");
  const covered = windows.covers(state, window, window.start_us + window.span_us, about);
  if (!covered) windows.ask(state, window, wall_ms, about);
  return { covered, held: windows.held(state, about) };
}

/** Height of the diagram: what is in view above the footer without scrolling, or most of the page where that is too little. */
function heightOf(page, picture) {
  const footer = page.document.querySelector("footer.transport")?.offsetHeight ?? 0;
  const room = page.innerHeight - footer - (picture.getBoundingClientRect().top + page.scrollY) - BELOW_PX;
  const most = Math.min(620, page.innerHeight * 0.62);
  return room >= LOWEST_PX ? Math.min(room, most) : Math.max(360, most);
}

/** @param {Shown} shown @returns {boolean} false when nothing has changed since the last drawing */
function draw(state, shown, { canvas, picture, pager }, { theme, ratio, lit, landmarks, covered, held, page, version }) {
  const { group, window, now_us, hidden, even } = shown;
  const width = picture.clientWidth;
  const height = Math.round(heightOf(page, picture) * (theme.scale > 1 ? 1.15 : 1));
  const wanted = [state.epoch, state.number, now_us, window.start_us, window.span_us, width, height, theme.ink.bg, theme.scale, ratio, group, shown.first_session, even, [...hidden].join(), version, covered, lit?.row.seq].join("|");
  if (wanted === shown.drawn) return false;
  shown.drawn = wanted;
  const folded = held?.folded ?? NOTHING;
  picture.style.height = `${height}px`;
  const end_us = Math.min(window.start_us + window.span_us, now_us);
  shown.messages = folded.messages.filter((one) => one.sent.at_us >= window.start_us && one.sent.at_us <= end_us && !hidden.has(FAMILY_OF[one.kind]));
  const columns = columnsOf(state, group, folded, window, { width, axis_px: AXIS_PX * theme.scale, scale: theme.scale, first_session: shown.first_session });
  shown.first_session = columns.first;
  pager.offer(columns);
  const { places, usAt } = paintNodeMessages(canvas, folded, theme, {
    width,
    height,
    ratio,
    window,
    now_us,
    furthest_us: Math.max(now_us, state.view.furthest_us),
    lines: columns.lines,
    hidden,
    even,
    spans_us: state.view.spans_us,
    bins: held?.bins ?? null,
    bins_from_us: held?.from_us ?? 0,
    lit,
    marks: marksOf(state, landmarks.of(state), MARKS),
  });
  Object.assign(shown, { places, usAt });
  return true;
}

/** @param {Shown} shown @returns {string} the window and its counts */
function wordsOf({ window, now_us, messages }, { held, covered }) {
  const end_us = Math.min(window.start_us + window.span_us, Math.max(now_us, window.start_us));
  const lost = messages.filter((one) => one.lost).length;
  const again = messages.filter((one) => one.again).length;
  const counts = [counted(messages.length, "message"), lost ? `${whole(lost)} lost` : "", again ? `${whole(again)} resent` : ""].filter(Boolean).join(", ");
  const what = held?.bins ? `${whole(held.count)} events, drawn as counts; zoom in to see each` : counts;
  return `${seconds(window.start_us, 1)} to ${seconds(end_us, 1)} s: ${what}${covered ? "" : "; loading more"}.`;
}

/** Distance of a point from a line segment, px. */
function farFrom({ x0, y0, x1, y1 }, x, y) {
  const long = (x1 - x0) ** 2 + (y1 - y0) ** 2;
  const share = long === 0 ? 0 : Math.max(0, Math.min(1, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / long));
  return Math.hypot(x - (x0 + share * (x1 - x0)), y - (y0 + share * (y1 - y0)));
}
