/**
 * “Handshakes”: the messages between leader and borrowers of a group, on vertical lines with time running down, with leases and their
 * expiry; the same as a list of words. A message that is chosen lights its causal cone everywhere on the page.
 */

import { spanFor, timePanned, timeZoomed, turned } from "../../../layout/time_axis.js";
import { counted, seconds, whole } from "../../../model/format.js";
import { FAMILY_OF, foldHandshakes, leaderLine, sessionLine, wordsOfMessage } from "../model/handshakes.js";
import { clientsOf } from "../model/groups.js";
import { marksOf } from "../../../model/marks.js";
import { MARKS } from "../model/marks.js";
import { makeWindows } from "../../../model/windows.js";
import { AXIS_PX, paintHandshakes } from "../render/handshake_diagram.js";
import { element, setText } from "../../../render/dom.js";
import { listenToTime } from "../../../render/time_gestures.js";

const NEAR_PX = 9;
const KEY_PART = 0.25;
/** Room of one line, px, on a narrow page less; and the most sessions that the server is asked about by name. */
const LINE_PX = 104;
const NARROW_LINE_PX = 88;
const NARROW_PX = 560;
const MOST_LINES = 32;
const LISTED_WORDS = 200;
const NOTHING = foldHandshakes();

const FAMILIES = [
  ["connect", "connect"],
  ["ping", "ping"],
  ["grant", "grant"],
  ["progress", "progress"],
  ["revoke", "revoke"],
  ["leave", "leave"],
];

/** @type {import("../../../pages/panel_list.js").Panel} */
export const HANDSHAKES = { name: "handshakes", title: "Messages between nodes", needs: "sessions", family: "durable-shared-subscriptions", make };

function make(section, { document, window: page, requests, base, link, lights, wake }) {
  section.classList.add("handshakes");
  const hidden = new Set();
  let even = false;
  let group = null;
  let first_session = 0;
  let window = null;
  let now_us = 0;
  let drawn = "";
  let listed = "";
  /** @type {ReturnType<typeof paintHandshakes>} */
  let shown = { places: [], usAt: () => 0 };
  let messages = []; // of the window, as drawn

  const windows = makeWindows({
    get: requests.get,
    address: (from_us, to_us, about) => `${base}handshakes.json?from_us=${from_us}&to_us=${to_us}&${about}`,
    take: (answer) => ({ folded: answer.bins ? NOTHING : foldHandshakes(answer.rows, answer.again, answer.before) }),
    onAnswer: wake,
  });

  const [before, after] = [button("‹", "Sessions before", () => turnTo(-1)), button("›", "Sessions after", () => turnTo(1))];
  const pager = element(document, "span.pager", {}, [before, element(document, "span", {}), after]);
  const kinds = element(document, "span.kinds", { role: "group", "aria-label": "Messages shown" }, FAMILIES.map(([name, text]) => element(document, `button.kind-${name}`, { type: "button", "aria-pressed": "true", onclick: (event) => toggle(name, event.currentTarget), text })));
  const unfold = element(document, "button", { type: "button", "aria-pressed": "true", text: "spread instants", title: "Draw messages of one instant one below the other, or time to scale", onclick: () => setEven(!even) });
  const zoom = element(document, "span.zoom", { role: "group", "aria-label": "Zoom of time" }, [button("↑", "Earlier", () => acts.earlier()), button("↓", "Later", () => acts.later()), button("−", "Zoom out on time", () => acts.reduceTime()), button("now", "Follow latest", () => acts.followTime()), button("+", "Zoom in on time", () => acts.magnifyTime())]);
  const says = element(document, "p.says", {});
  const canvas = element(document, "canvas", { "aria-hidden": "true" });
  const picture = element(document, "div.lines", { tabindex: 0, role: "group", "aria-label": "Messages between nodes: arrow up and down move in time, plus and minus zoom; the list below has the same as text", onkeydown: onKey }, [canvas]);
  const listing = element(document, "ol", {});
  const words = element(document, "details.in-words", { ontoggle: () => wake() }, [element(document, "summary", { text: "As text" }), listing]);
  const key = element(document, "p.quiet.key", { text: "Left of a session’s line: until when the leader keeps it (indigo) and until when it keeps reading without a ping response (grey), dotted up to the timeout; crimson: between the two, two sessions may read one stream. Right: its leases, dashed while revoking. Ring around a tail: resent. Dashes: delayed. Fork: duplicated. Cross: lost. On the leader’s line: ring is a rebalance, diamond a commit." });
  section.replaceChildren(element(document, "div.bar", {}, [kinds, unfold, pager, zoom]), says, picture, key, words);

  function button(text, name, onclick) {
    return element(document, "button", { type: "button", "aria-label": name, title: name, text, onclick });
  }

  function redraw() {
    drawn = "";
    wake();
  }

  function change(next) {
    window = next;
    redraw();
  }

  const namesOf = (state) => clientsOf(state, group).map(({ name }) => name);

  function toggle(name, pressed) {
    if (!hidden.delete(name)) hidden.add(name);
    pressed.setAttribute("aria-pressed", String(!hidden.has(name)));
    redraw();
  }

  function setEven(next) {
    even = next;
    unfold.setAttribute("aria-pressed", String(!even));
    redraw();
  }

  function turnTo(step) {
    first_session += step * Math.max(1, Number(pager.dataset.fit));
    redraw();
  }

  const pan = (part) => window && change(timePanned(window, part * window.span_us));
  const zoomBy = (direction, around_us = now_us) => window && change(timeZoomed(window, direction, around_us));
  const acts = { earlier: () => pan(-KEY_PART), later: () => pan(KEY_PART), magnifyTime: () => zoomBy(1), reduceTime: () => zoomBy(-1), followTime: () => change(null) };

  function onKey(event) {
    const act = { ArrowUp: "earlier", ArrowDown: "later", "+": "magnifyTime", "=": "magnifyTime", "-": "reduceTime", Home: "followTime" }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    acts[act]();
  }

  const nearest = (x, y) => shown.places.map((place) => ({ place, far: farFrom(place, x, y) })).sort((a, b) => a.far - b.far)[0];
  listenToTime(picture, {
    vertical: true,
    onPan: (by_px) => pan(-by_px / Math.max(1, picture.clientHeight)),
    onZoom: (direction, y) => zoomBy(direction, shown.usAt(y)),
    onClick: (x, y) => {
      const near = nearest(x, y);
      if (near && near.far < NEAR_PX) lights.row(near.place.message.seq);
    },
    onDouble: (y) => link.seek(shown.usAt(y)),
    onHover: (x, y) => {
      const near = nearest(x, y);
      picture.style.cursor = near && near.far < NEAR_PX ? "pointer" : "";
      picture.title = near && near.far < NEAR_PX ? wordsOfMessage(near.place.message) : "";
    },
  });

  /** Lines from left to right: half of the sessions, the leaders, the other half. */
  function linesOf(state, width, scale, held) {
    const told = held ? [...new Set([...held.folded.messages.map(({ client }) => client), ...held.folded.borrowers.map(({ client }) => client)])] : [];
    const names = [...new Set([...namesOf(state), ...told])].sort();
    const nodes = leaderNodes(state, held?.folded ?? NOTHING);
    const fit = Math.max(1, Math.floor((width - AXIS_PX * scale) / ((width < NARROW_PX ? NARROW_LINE_PX : LINE_PX) * scale)) - nodes.length);
    first_session = Math.max(0, Math.min(first_session, names.length - fit));
    const sessions = names.slice(first_session, first_session + fit);
    offerPages(names, sessions, fit);
    const half = Math.ceil(sessions.length / 2);
    const line = (name) => ({ name: sessionLine(name), title: name, note: state.view.sessions[name]?.state === "online" ? state.view.sessions[name].node : "offline" });
    return [...sessions.slice(0, half).map(line), ...nodes.map((node) => ({ name: leaderLine(node), title: "leader", note: `at ${node}` })), ...sessions.slice(half).map(line)];
  }

  function leaderNodes(state, { leaders, messages }) {
    const end_us = window.start_us + window.span_us;
    const here = leaders.filter(({ from, until }) => from.at_us <= end_us && (until === null || until.at_us >= window.start_us)).map(({ node }) => node);
    const spoken = messages.flatMap(({ from, to, sent }) => (sent.at_us >= window.start_us && sent.at_us <= end_us ? [from, to] : [])).filter((name) => name.startsWith("leader ")).map((name) => name.slice(7));
    const { claim } = state.view.groups[group];
    const nodes = [...new Set([...here, ...spoken])].sort();
    return nodes.length ? nodes : claim ? [claim.node] : [];
  }

  function offerPages(names, sessions, fit) {
    pager.hidden = names.length <= fit;
    pager.dataset.fit = String(fit);
    setText(pager.children[1], `${whole(first_session + 1)}–${whole(first_session + sessions.length)} of ${counted(names.length, "session")}`);
    before.disabled = first_session === 0;
    after.disabled = first_session + fit >= names.length;
  }

  function tell(held, covered) {
    const end_us = window.start_us + window.span_us;
    const lost = messages.filter((one) => one.lost).length;
    const again = messages.filter((one) => one.again).length;
    const what = held?.bins ? `${whole(held.count)} events, drawn as counts; zoom in to see each` : [counted(messages.length, "message"), lost ? `${whole(lost)} lost` : "", again ? `${whole(again)} resent` : ""].filter(Boolean).join(", ");
    setText(says, `${seconds(window.start_us, 1)} to ${seconds(Math.min(end_us, Math.max(now_us, window.start_us)), 1)} s: ${what}${covered ? "" : "; loading more"}.`);
  }

  function list() {
    const wanted = `${drawn}|${words.open}`;
    if (!words.open || wanted === listed) return;
    listed = wanted;
    listing.replaceChildren(
      ...messages.slice(0, LISTED_WORDS).map((message) => element(document, "li", {}, [element(document, "button.plain", { type: "button", text: `${seconds(message.sent.at_us)} s: ${wordsOfMessage(message)}`, onclick: () => lights.row(message.seq) })])),
      ...(messages.length > LISTED_WORDS ? [element(document, "li.quiet", { text: `${whole(messages.length - LISTED_WORDS)} more: zoom in to see them.` })] : []),
    );
  }

  return {
    acts,
    update(state, watched, { theme, ratio, wall_ms, now_us: shown_us, lit, landmarks }) {
      now_us = shown_us;
      if (watched.group !== group) [group, first_session] = [watched.group, 0];
      picture.hidden = key.hidden = words.hidden = group === null;
      if (group === null) {
        setText(says, "No group is declared yet.");
        return;
      }
      window = turned(window, now_us, spanFor(state.playing ? state.speed : 0));
      const everybody = Object.keys(state.view.sessions).length <= MOST_LINES;
      const asked = everybody ? [] : namesOf(state).slice(first_session, first_session + MOST_LINES);
      const about = [`group=${encodeURIComponent(group)}`, ...asked.map((name) => `client=${encodeURIComponent(name)}`)].join("&");
      const covered = windows.covers(state, window, window.start_us + window.span_us, about);
      if (!covered) windows.ask(state, window, wall_ms, about);
      const held = windows.held(state, about);
      const width = picture.clientWidth;
      const height = Math.round(Math.max(360, Math.min(620, page.innerHeight * 0.62)) * (theme.scale > 1 ? 1.15 : 1));
      const wanted = [state.epoch, state.number, now_us, window.start_us, window.span_us, width, height, theme.ink.bg, theme.scale, ratio, group, first_session, even, [...hidden].join(), windows.version(), covered, lit?.row.seq].join("|");
      if (wanted === drawn) return list();
      drawn = wanted;
      const folded = held?.folded ?? NOTHING;
      picture.style.height = `${height}px`;
      const end_us = window.start_us + window.span_us;
      messages = folded.messages.filter((one) => one.sent.at_us >= window.start_us && one.sent.at_us <= Math.min(end_us, now_us) && !hidden.has(FAMILY_OF[one.kind]));
      shown = paintHandshakes(canvas, folded, theme, {
        width,
        height,
        ratio,
        window,
        now_us,
        furthest_us: Math.max(now_us, state.view.furthest_us),
        lines: linesOf(state, width, theme.scale, held),
        hidden,
        even,
        spans_us: state.view.spans_us,
        bins: held?.bins ?? null,
        bins_from_us: held?.from_us ?? 0,
        lit,
        marks: marksOf(state, landmarks.of(state), MARKS),
      });
      tell(held, covered);
      return list();
    },
  };
}

/** How far a point lies from a line, px. */
function farFrom({ x0, y0, x1, y1 }, x, y) {
  const long = (x1 - x0) ** 2 + (y1 - y0) ** 2;
  const share = long === 0 ? 0 : Math.max(0, Math.min(1, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / long));
  return Math.hypot(x - (x0 + share * (x1 - x0)), y - (y0 + share * (y1 - y0)));
}
