/** Assembles the parts of the lab page: which are updated with a state, in which order, and the effect of clicks. */

import { makeCurveWindow } from "../model/curve_window.js";
import { makeFooter, makeLandmarks } from "./footer.js";
import { wordsOfRow } from "../model/event_rows.js";
import { makeAppearance } from "./appearance.js";
import { makeBeginning, makeNotices, makeStates } from "./notices.js";
import { makeBranches } from "./branches.js";
import { makeDialogs, makeQuestion } from "./dialogs.js";
import { showAsAsked } from "./share.js";
import { makeEventPanel } from "./event_panel.js";
import { makeFaults } from "./faults.js";
import { makeHeader } from "./header.js";
import { makeLights } from "./lights.js";
import { PANELS, TIME, makePanels, makeQuestionButtons } from "./panels.js";
import { lazyPlotly } from "../render/plotly.js";
import { makePresenting } from "./presenting.js";
import { makeStoryPlayer } from "./story.js";
import { makeTourPlayer } from "./tour_player.js";
import { PROTOCOLS, protocolOf } from "../protocols/table.js";
import { element, required } from "../render/dom.js";
import { makeInspector } from "../render/inspector.js";
import { makeLegend } from "../render/legend.js";
import { makeMirror, makeSentence } from "../render/sentence.js";
import { makeControls } from "../transport/controls.js";
import { blurClickedButtons, listenToKeys } from "../transport/keys.js";

/**
 * When duplicates were delivered, by cause, for the time axes of any protocol.
 * The whole branch is counted by the server (`why-duplicates.json`), so marks stay when the viewer goes back. It is requested only
 * when the figures of the view show duplicates that the answer does not have, or when the branch was run beyond the instant shown.
 */

/** Shortest time between two requests during playback, ms: counting takes a while. */
const ASK_EVERY_MS = 3000;
/** Number of rows above which nothing is counted during playback, because playback would wait. */
const PLAYED_ROWS = 200_000;

/** @typedef {{from_us: number, until_us: number, cause: string, count: number}} Burst */

/** @returns {number} the duplicates so far of all failovers and groups of the view */
function duplicatesOf({ failovers = [], groups = {} }) {
  const of_groups = Object.values(groups).reduce((sum, { figures }) => sum + (figures?.duplicates ?? 0), 0);
  return failovers.reduce((sum, { duplicates }) => sum + (duplicates ?? 0), of_groups);
}

/** @param {{get: (path: string) => Promise<object>, base: string, onAnswer: () => void}} parts */
export function makeBursts({ get, base, onAnswer }) {
  let held = { branch: null, counted_to_us: 0, cases: [] };
  let asking = false;
  let asked_ms = -Infinity;
  let asked = "";
  let version = 0;

  function ask() {
    asking = true;
    get(`${base}why-duplicates.json`)
      .then(({ branch, counted_to_us, failovers, shared }) => {
        held = { branch, counted_to_us, cases: [...failovers, ...shared] };
        version += 1;
      })
      .catch((reason) => console.info(`The time axes have no marks of duplicates: ${reason.message}`))
      .finally(() => {
        asking = false;
        onAnswer();
      });
  }

  /** Whether the answer held lacks something of the branch. */
  function lacks({ view, at_us }) {
    if (at_us < view.furthest_us) return held.branch !== view.branch || held.counted_to_us !== view.furthest_us;
    const counted = held.branch === view.branch ? held.cases.flatMap(({ bursts }) => bursts) : [];
    return duplicatesOf(view) !== counted.filter(({ until_us }) => until_us <= at_us).reduce((sum, { count }) => sum + count, 0);
  }

  return {
    /** Increases with each answer, so that a picture can detect that it must be redrawn. */
    version: () => version,
    /** @returns {Burst[]} of what is shown, ascending, with those of the branch after the instant shown */
    of(state, watched, wall_ms) {
      const { branch, seq, furthest_us } = state.view;
      const key = [branch, state.epoch, state.at_us, furthest_us].join("|");
      const due = !state.playing || (wall_ms - asked_ms >= ASK_EVERY_MS && seq < PLAYED_ROWS);
      if (due && !asking && asked !== key && lacks(state)) {
        [asked, asked_ms] = [key, wall_ms];
        ask();
      }
      const name = watched.group ?? watched.subscription;
      return held.branch === branch ? held.cases.filter((one) => (one.group ?? one.subscription) === name).flatMap(({ bursts }) => bursts) : [];
    },
  };
}

/** The selectors of what to show: topic or partition, subscription, group. Hidden when there is nothing to choose. */

export function makeChoices(document, root, { choose }) {
  const boxes = {
    topic: required(root, "[data-choice=topic]"),
    subscription: required(root, "[data-choice=subscription]"),
    group: required(root, "[data-choice=group]"),
  };
  const shown = {};
  for (const [name, box] of Object.entries(boxes)) {
    const select = box.querySelector("select");
    select.addEventListener("change", () => {
      choose({ [name]: select.value });
    });
  }

  function fill(name, options, value) {
    const key = JSON.stringify([options, value]);
    if (shown[name] === key) return;
    shown[name] = key;
    const select = boxes[name].querySelector("select");
    boxes[name].hidden = options.length < 2;
    select.replaceChildren(...options.map(([one, text]) => element(document, "option", { value: one, text })));
    select.value = String(value);
  }

  return {
    update(state, watched) {
      const offered = protocolOf(state).choices(state, watched);
      for (const name of Object.keys(boxes)) fill(name, (offered[name] ?? []).map((one) => [one, one]), watched[name]);
    },
  };
}

/**
 * The part of the lab page that a protocol provides: its main picture and what belongs to it.
 * The views of all protocols are made with the page, because their buttons are in the template. The view of the lab's protocol is shown.
 *
 * @typedef {object} Tools what a protocol's view receives
 * @property {Document} document
 * @property {HTMLElement} root
 * @property {ReturnType<import("../transport/lab_link.js").makeLabLink>} link play, seek, seekSeq, command
 * @property {ReturnType<import("../wire/http.js").makeRequests>} requests
 * @property {string} base path of the lab, ending in "/"
 * @property {() => any} getState the LabState, with what the protocol folds from frames
 * @property {() => object} getWatched
 * @property {(selection: object) => void} choose sets what is shown
 * @property {() => void} wake requests one more drawing
 * @property {() => void} redraw requests that everything is redrawn
 * @property {(notice: {error: string, hint?: string, tone?: string}) => void} say
 * @property {(producer: string, number: number) => void} follow sets the step filter to one message
 * @property {(row: object) => Array<string | object>} wordsOfRow
 * @property {ReturnType<import("./lights.js").makeLights>} lights
 * @property {ReturnType<import("../render/inspector.js").makeInspector>} inspector
 * @property {ReturnType<import("./faults.js").makeFaults>["menus"]} menus
 */
/** @typedef {import("../render/time_section.js").TimeAxis} TimeAxis */
/**
 * @typedef {object} ProtocolView
 * @property {Object<string, () => void>} acts actions of keys in the main picture
 * @property {Object<string, () => void>} [time_acts] actions of keys in the time diagram, for protocols with one
 * @property {(theme: object, watched: object) => object} [themeOf] the page's theme with the hues for what is shown
 * @property {(state: object, watched: object, theme: object, ratio: number) => boolean} [updateAbove] updates what is above the picture; true when its height changed
 * @property {(state: object, watched: object, theme: object, ratio: number, room: number, lit: object | null, chosen?: import("../render/marks.js").Chosen | null) => void} update draws the static part; `chosen`: the mark that the legend highlights
 * @property {(state: object, watched: object, theme: object, at_us: number, ratio: number, chosen?: import("../render/marks.js").Chosen | null) => boolean} animate draws the moving part; true while anything moves
 * @property {(state: object, watched: object, theme: object, given: object) => void} [updateTime] updates the time panel
 * @property {() => TimeAxis} [timeAxis] the axis that the time panel would have
 * @property {(axis: TimeAxis) => void} [shareTimeAxis] the time panel has this axis, which it shares with that of another run
 * @property {(state: object, watched: object, theme: object, ratio: number, width: number) => void} updateSide updates the tables beside the picture
 * @property {() => void} redraw
 * @property {(state: object) => object[]} [older] messages for the reducer, made from data that the picture has requested
 * @property {(state: object) => boolean} [isLoading] whether the picture still requests data that it needs
 * @property {() => void} [forgetBranch] drops the requested data of another branch
 * @property {() => void} failOver
 * @property {(look: object) => void} look shows the thing of a menu item in the inspector
 * @property {(row: object) => {says: string, act: () => void}[]} [actsOfRow] actions that are offered for a row of the list
 * @property {Predictions} [predictions] for protocols with positions in a log
 * @property {(shown: Explained | null) => void} [explain] how a tour has the picture shown, for protocols with positions in a log; null: as without a tour
 */
/**
 * @typedef {object} Explained
 * @property {{text: string, cluster: string, position: string, at_us: number} | null} [note] sentence beside an entry, from an instant on; the present one if absent
 * @property {boolean} large whether messages are drawn large while there are few: there is room for it while most of the page is hidden
 * @property {boolean} forecast whether messages that would be duplicates are marked
 */
/** @typedef {{cluster: string, choose: (position: string) => void}} Asked a question that a click in the lane of a cluster answers */
/**
 * @typedef {object} Predictions how the viewer chooses a position in a log
 * @property {(asked: Asked | null) => void} ask clicks choose a position until it is called with null
 * @property {(mark: {cluster: string, position: string} | null) => void} show marks a position in the picture
 * @property {(cluster: string, position: string, by: number) => string} beside the position some messages further
 * @property {(cluster: string, position: string) => string} words what a position covers, "" for none
 * @property {(cluster: string, one: string, other: string) => boolean} same whether two positions cover the same messages
 */

/** @param {Tools} tools */
export function makeProtocolView(tools) {
  const { root, getState } = tools;
  const views = new Map(PROTOCOLS.map((protocol) => [protocol, protocol.makeView(tools)]));
  const now = () => views.get(protocolOf(getState()));
  const merged = (kind) => Object.fromEntries([...views.values()].flatMap((view) => Object.keys(view[kind] ?? {})).map((name) => [name, () => now()?.[kind]?.[name]?.()]));
  return {
    acts: merged("acts"),
    time_acts: merged("time_acts"),
    themeOf: (theme, watched) => now().themeOf?.(theme, watched) ?? theme,
    /** @type {ProtocolView["updateAbove"]} */
    updateAbove: (...given) => now().updateAbove?.(...given) ?? false,
    /** @type {ProtocolView["update"]} */
    update(state, ...given) {
      const shown = protocolOf(state);
      for (const protocol of PROTOCOLS) if (protocol.page_class) root.classList.toggle(protocol.page_class, protocol === shown);
      now().update(state, ...given);
    },
    /** @type {ProtocolView["animate"]} */
    animate: (...given) => now().animate(...given),
    /** @type {ProtocolView["updateTime"]} */
    updateTime: (...given) => now().updateTime?.(...given),
    /** @returns {TimeAxis | undefined} */
    timeAxis: () => now()?.timeAxis?.(),
    /** @param {TimeAxis} axis */
    shareTimeAxis: (axis) => now()?.shareTimeAxis?.(axis),
    /** @type {ProtocolView["updateSide"]} */
    updateSide: (...given) => now().updateSide(...given),
    redraw: () => views.forEach((view) => view.redraw()),
    older: (state) => now()?.older?.(state) ?? [],
    /** @type {(state: object) => boolean} */
    isLoading: (state) => now()?.isLoading?.(state) ?? false,
    forgetBranch: () => views.forEach((view) => view.forgetBranch?.()),
    failOver: () => now()?.failOver(),
    look: (look) => now().look(look),
    predictions: () => now()?.predictions ?? null,
    /** @type {ProtocolView["explain"]} */
    explain: (shown) => now()?.explain?.(shown),
    actsOfRow: (row) => now().actsOfRow?.(row) ?? [],
  };
}

/** Shortest time between two measurements of the page's heights during playback, ms of the wall clock: each forces a layout. */
const MEASURE_EVERY_MS = 250;

/** @param {object} parts see lab_page.js */
export function makeView(parts) {
  const { document, root, window } = parts;
  const notices = makeNotices(document, root);
  const say = (notice) => notices.say(notice);
  const states = makeStates({ document, root, window, notices, getState: parts.getState });
  const picture = makePicture({ ...parts, say, ask: makeQuestion(document, root) });
  const around = makeAround({ ...parts, say }, picture);
  listen(parts, picture, around);

  let welcomed = false;
  function receive(message) {
    states.receive(message);
    around.presenting.receive(message);
    if (message.type !== "welcome") return;
    if (!welcomed) around.story.openFromAddress();
    welcomed = true;
  }

  return {
    draw: makeDraw(parts, picture, around, states),
    receive,
    welcomed: () => showAsAsked(root, window, parts.link),
    say,
    redraw: picture.redraw,
    older: picture.protocol_view.older,
    timeAxis: picture.protocol_view.timeAxis,
    shareTimeAxis: picture.protocol_view.shareTimeAxis,
    forgetBranch: picture.protocol_view.forgetBranch,
    connection: states.connection,
    /** Highlights a row of the trace with its causes and effects. @param {number} seq */
    showRow: (seq) => picture.lights.row(seq),
    differs: states.differs,
  };
}

/** The function that describes rows of one lab. */
const wordsIn = (getState) => (row) => wordsOfRow(row, getState());

/** The main picture with its menus and inspector, and the controls. */
function makePicture(parts) {
  const { document, root, window, link, getState, wake, say, ask } = parts;
  const dialogs = makeDialogs(document, window, { link, getState });
  const measured = { state: null, room: 0, spare: null, at_ms: -Infinity };
  const forgetMeasured = () => Object.assign(measured, { state: null, spare: null });
  const redraw = () => {
    forgetMeasured();
    protocol_view.redraw();
    wake();
  };
  const appearance = makeAppearance(document, root, window, redraw);
  const lights = makeLights({ ...parts, redraw });
  const inspector = makeInspector(document, root);
  const faults = makeFaults({ ...parts, getState: dialogs.state, failOver: () => protocol_view.failOver(), look: (look) => protocol_view.look(look) });
  const follow = (producer, number) => {
    controls.followMessage(producer, number);
    wake();
  };
  const plotly = lazyPlotly(document, window, root.dataset.plotly, wake);
  const protocol_view = makeProtocolView({ ...parts, redraw, lights, inspector, menus: faults.menus, follow, wordsOfRow: wordsIn(getState) });
  const controls = makeControls(root, link, say, ask);
  return { ask, dialogs, measured, forgetMeasured, redraw, appearance, lights, inspector, faults, plotly, protocol_view, controls };
}

/** The parts around the picture: sentence and header above it, the list beside it, the panels and the time slider below. */
function makeAround(parts, { appearance, ask, controls, inspector, lights, plotly, protocol_view, redraw }) {
  const { document, root, requests, base, link, getState, getWatched, choose, wake, say } = parts;
  const asking = { get: requests.get, base, onAnswer: wake };
  const landmarks = makeLandmarks(asking);
  const bursts = makeBursts(asking);
  const footer = makeFooter(root, link, getState, getWatched, landmarks, makeCurveWindow(asking), bursts);
  const events = makeEventPanel({ ...parts, actsOfRow: protocol_view.actsOfRow, wordsOfRow: wordsIn(getState), lights });
  const sentence = makeSentence(document, root, (target) => choose({ target }));
  const mirror = makeMirror(document, root);
  const choices = makeChoices(document, root, { choose });
  const header = makeHeader(document, root, { ...parts, ask, getView: () => ({ panel: panels.shown(), selection: parts.getSelection() }) });
  const legend = makeLegend(document, root, redraw);
  const beginning = makeBeginning(root, controls.acts.playPause);
  const branches = makeBranches(document, root, { link, getState, say });
  /** A step of a story: highlights its row in the list, and in the lanes its message, or else causes and effects of the row. */
  function lightStep(shown) {
    events.show(shown?.row.seq ?? null);
    if (shown === null) lights.clear();
    else if (shown.message === null) lights.row(shown.row.seq);
    else lights.message(shown.message.producer, shown.message.number);
  }
  const story = makeStoryPlayer({ ...parts, light: lightStep, onRoom: redraw });
  const panels = makePanels(root, PANELS, { ...parts, story, plotly, lights }, redraw);
  const tour = makeTourPlayer({ ...parts, light: lightStep, showPanel: panels.show, calm: appearance.calm, predictions: protocol_view.predictions, explain: protocol_view.explain, onRoom: redraw });
  const presenting = makePresenting({ ...parts, onClass: tour.onClass, resend: tour.resend, ...makeShown({ parts, events, inspector, legend, lights, panels, protocol_view, tour }), getView: () => ({ panel: panels.shown(), selection: parts.getSelection() }), onRoom: redraw });
  return { landmarks, bursts, footer, events, sentence, mirror, choices, header, legend, beginning, branches, story, tour, panels, presenting, questions: makeQuestionButtons(root, panels) };
}

/** What a presenter's page shows beyond the frames, and how the page of a follower shows the same. */
function makeShown({ parts, events, inspector, legend, lights, panels, protocol_view, tour }) {
  /** @param {import("./presenting.js").Shown["lit"]} lit */
  function light(lit) {
    if (JSON.stringify(lit) === JSON.stringify(lights.shown())) return;
    events.show(lit && "seq" in lit ? lit.seq : null);
    if (lit === null) lights.clear();
    else if ("seq" in lit) lights.row(lit.seq);
    else if ("marker" in lit) lights.marker(lit.marker);
    else lights.message(...lit.message);
  }

  return {
    shownNow: () => ({ panel: panels.shown(), choices: parts.getSelection(), lit: lights.shown(), item: inspector.shown(), mark: legend.chosen()?.item.words ?? null, tour: tour.shown() }),
    apply: {
      panel: (name) => (name === TIME || PANELS.some((one) => one.name === name)) && panels.shown() !== name && panels.show(name),
      choices: (choices) => choices !== null && parts.choose(choices),
      mark: legend.chooseNamed,
      tour: tour.follow,
      item: (thing) => (thing === null ? inspector.isOpen() && inspector.close() : inspector.quietly(() => protocol_view.look(thing))),
      lit: light,
    },
  };
}

/** Connects the keys and the button of the text view; a change of the page's size redraws the picture. */
function listen({ document, root, window }, { controls, faults, inspector, lights, protocol_view, redraw }, { branches, events, footer, header, legend, mirror, panels, story, tour }) {
  /** While a panel with its own time axis is shown, it receives the keys of the time diagram. */
  const timed = Object.fromEntries(Object.entries(protocol_view.time_acts).map(([name, act]) => [name, () => (panels.actOf(name) ?? act)()]));
  const { earlier, later } = timed; // while a story is open, the two keys move through its steps
  const steps = { earlier: () => story.acts.previousStep() || earlier(), later: () => story.acts.nextStep() || later() };
  /** A key of the section below the logs shows it, if the tour has not. */
  const wholeFirst = (act) => () => {
    tour.showWhole();
    act();
  };
  /** On a tour the arrow keys and those of presenter remotes go from step to step. */
  const touring = {
    step: () => tour.acts.next() || controls.acts.step(),
    stepBack: () => tour.acts.previous() || controls.acts.stepBack(),
    nextPanel: wholeFirst(panels.acts.nextPanel),
    toTime: wholeFirst(panels.acts.toTime),
    tourNext: Object.assign(() => void tour.acts.next(), { offered: tour.isOpen }),
    tourPrevious: Object.assign(() => void tour.acts.previous(), { offered: tour.isOpen }),
  };
  /** Esc closes one thing at a time: the inspector, then a story, then the highlight. */
  function clear() {
    if (inspector.isOpen()) inspector.close();
    else if (!story.close() && !lights.clear()) legend.clear();
  }
  const words = () => header.wordsShown(mirror.toggle());

  for (const [name, act] of Object.entries(TIME_BUTTONS)) required(root, `[data-act=${name}]`).addEventListener("click", protocol_view.time_acts[act]);
  new window.ResizeObserver(redraw).observe(required(root, "main"));
  if (root.classList.contains("embedded")) return; // the page around it has the keys
  const { signal } = new window.AbortController();
  blurClickedButtons(document, signal);
  listenToKeys(
    document,
    { ...controls.acts, ...footer.acts, ...protocol_view.acts, ...timed, ...faults.acts, ...events.acts, ...header.acts, ...branches.acts, ...panels.acts, ...steps, ...touring, clear, words },
    signal,
  );
  required(root, "[data-act=words]").addEventListener("click", words);
}

function updateLegend(legend, state, watched, theme, ratio) {
  const protocol = protocolOf(state);
  legend.update(protocol.name, protocol.legend, theme, { ratio, clusters: watched.clusters, beside: state.only !== null, ...protocol.possible(state, watched) });
}

const TIME_BUTTONS = { "time-in": "magnifyTime", "time-out": "reduceTime", "time-now": "followTime" };

/** @returns {() => number} the element's width inside its border, px; read again when its size changes, because each read during a drawing forces a layout */
function widthOf(element, window, onChange) {
  let width = null;
  new window.ResizeObserver(() => {
    width = null;
    onChange();
  }).observe(element);
  return () => (width ??= element.clientWidth);
}

/** @returns {(state: object, watched: object, shown_us: number, wall_ms: number, ratio?: number) => boolean} draws a state; true when a further drawing is needed */
function makeDraw({ root, window, wake }, { appearance, controls, dialogs, forgetMeasured, lights, measured, protocol_view }, around, states) {
  const { landmarks, bursts, panels, footer, events, story, tour } = around;
  const sideWidth = widthOf(required(root, "[data-part=side]"), window, wake);
  return function draw(state, watched, shown_us, wall_ms, ratio = window.devicePixelRatio || 1) {
    if (!state.view || !watched) return false;
    root.classList.add("drawn");
    const theme = protocol_view.themeOf(appearance.theme(), watched);
    const at_us = appearance.calm() ? state.at_us : shown_us;
    if (protocol_view.updateAbove(state, watched, theme, ratio)) forgetMeasured();
    if (measured.state === null || (state !== measured.state && !(state.playing && wall_ms - measured.at_ms < MEASURE_EVERY_MS))) {
      Object.assign(measured, { state, room: appearance.room(theme, watched.clusters.length), spare: null, at_ms: wall_ms });
    }
    const lit = lights.now();
    const chosen = around.legend.chosen();
    protocol_view.update(state, watched, theme, ratio, measured.room, lit, chosen);
    measured.spare ??= appearance.spare();
    const flying = protocol_view.animate(state, watched, theme, at_us, ratio, chosen);
    if (panels.shown() === "time") protocol_view.updateTime(state, watched, theme, { now_us: at_us, ratio, wall_ms, spare: measured.spare, lit, chosen, landmarks: landmarks.of(state), bursts });
    panels.update(state, watched, { theme, ratio, wall_ms, now_us: at_us, lit, landmarks, loading: protocol_view.isLoading(state) });
    footer.update(state, watched, theme, at_us, ratio, wall_ms);
    controls.update(state, at_us, wall_ms);
    around.sentence.update(state, watched, wall_ms);
    around.questions.update(state, watched);
    story.update(state);
    tour.update(state);
    around.presenting.update();
    protocol_view.updateSide(state, watched, theme, ratio, sideWidth());
    around.choices.update(state, watched);
    around.branches.update(state);
    around.beginning.update(state);
    around.header.update(state, watched);
    updateLegend(around.legend, state, watched, theme, ratio);
    around.mirror.update(state, watched, wall_ms);
    const owed = events.update(state, theme, ratio, wall_ms);
    states.update(state);
    dialogs.update(state);
    return (state.playing && flying) || owed;
  };
}
