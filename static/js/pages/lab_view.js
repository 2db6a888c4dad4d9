/** All that the lab page shows, put together: who is told of a state, in which order, and what a click on it leads to. */

import { makeCurveWindow } from "../model/curve_window.js";
import { makeLandmarks } from "../model/landmarks.js";
import { makePassages } from "../protocols/pulsar/model/passages.js";
import { groupThingWords } from "../protocols/emqx/model/group_words.js";
import { isGroupLab } from "../protocols/emqx/model/groups.js";
import { wordsOfThing } from "../protocols/pulsar/model/thing_words.js";
import { makeBuilding } from "../protocols/pulsar/render/building.js";
import { makeCaches } from "../protocols/pulsar/render/caches.js";
import { required } from "../render/dom.js";
import { makeGroupRisk } from "../protocols/emqx/render/group_risk.js";
import { makeGroupStage } from "../protocols/emqx/render/group_stage.js";
import { makeMirror } from "../render/mirror.js";
import { makeNotices } from "../render/notices.js";
import { makePartitions } from "../protocols/pulsar/render/partitions.js";
import { makeRisk } from "../protocols/pulsar/render/risk.js";
import { makeSentence } from "../render/sentence.js";
import { makeStage } from "../protocols/pulsar/render/stage.js";
import { themeFor } from "../render/theme.js";
import { makeTold } from "../protocols/pulsar/render/told.js";
import { makeTimeSection } from "../protocols/pulsar/render/time_section.js";
import { makeControls } from "../transport/controls.js";
import { makeQuestion } from "../transport/question_dialog.js";
import { letGoOfClickedButtons, listenToKeys } from "../transport/keys.js";
import { makeAppearance } from "./appearance.js";
import { makeBeginning } from "./beginning.js";
import { makeBranches } from "./branches.js";
import { makeChoices } from "./choices.js";
import { makeDialogs } from "./dialogs.js";
import { makeEventPanel } from "./event_panel.js";
import { makeFaults } from "./faults.js";
import { makeFooter } from "./footer.js";
import { makeHeader } from "./header.js";
import { makeLights } from "./lights.js";
import { makeLooks } from "./looks.js";
import { makeMainPicture } from "./main_picture.js";
import { PANELS } from "./panel_list.js";
import { makePanels } from "./panels.js";
import { lazyPlotly } from "./plotly.js";
import { makeStates } from "./states.js";
import { makeAsks } from "./asks.js";
import { makeStoryPlayer } from "./story_player.js";

/** @param {object} parts see lab_page.js */
export function makeView(parts) {
  const { document, root, window, link, tiles, getState, getWatched, choose, wake } = parts;
  const notices = makeNotices(document, root);
  const say = (notice) => notices.say(notice);
  const ask = makeQuestion(document, root);
  const dialogs = makeDialogs(document, window, { link, getState });
  const states = makeStates({ document, root, window, notices, getState });
  // heights are asked of the page once per state: asking in every animation frame would lay it out each time
  let measured = {};
  const redraw = () => {
    measured = {};
    picture.redraw();
    time.forget();
    wake();
  };
  const appearance = makeAppearance(document, root, window, redraw);
  const lights = makeLights({ ...parts, say, redraw });
  const looks = makeLooks({ ...parts, say, lights, onFollow: (producer, number) => controls.followMessage(producer, number) });
  const faults = makeFaults({ ...parts, getState: dialogs.state, say, onMarker: looks.showMarker, onInside: looks.showInside });
  const stage = makeStage(document, root, { ...faults.on, onThing: looks.showThing, onChange: wake, say: (thing) => wordsOfThing(getState(), getWatched(), thing) }, tiles);
  const group_stage = makeGroupStage(document, root, { onThing: faults.on.onGroupThing, onChange: wake, say: (thing) => groupThingWords(getState(), getWatched(), thing) });
  const picture = makeMainPicture(root, getState, stage, group_stage);
  const asking = { get: parts.requests.get, base: parts.base, onAnswer: wake };
  const plotly = lazyPlotly(document, window, root.dataset.plotly, wake);
  const time = makeTimeSection(root, { onMarker: looks.showMarker, onChange: wake, onInstant: (at_us) => link.seek(at_us) }, plotly, makePassages(asking), makeCurveWindow(asking));
  const controls = makeControls(root, link, say, ask);
  const landmarks = makeLandmarks(asking);
  const footer = makeFooter(root, link, getState, getWatched, landmarks, makeCurveWindow(asking));
  const events = makeEventPanel({ ...parts, say, looks, lights });
  const sentence = makeSentence(document, root, (target) => choose({ target }));
  const risk = makeRisk(document, root);
  const group_risk = makeGroupRisk(document, root);
  const told_section = makeTold(document, root);
  const building = makeBuilding(document, root);
  const caches = makeCaches(document, root);
  const mirror = makeMirror(document, root);
  const choices = makeChoices(document, root, { choose });
  const partitions = makePartitions(document, root, { onTopic: (topic) => choose({ topic }), onFold: redraw });
  const header = makeHeader(document, root, { ...parts, say, ask, appearance });
  const beginning = makeBeginning(root, controls.acts.playPause);
  const branches = makeBranches(document, root, { link, getState, say });
  const story = makeStoryPlayer({ ...parts, say, light: lightBeat, onRoom: redraw });
  const panels = makePanels(root, PANELS, { ...parts, say, story, plotly, lights }, redraw);
  const asks = makeAsks(root, panels);
  /** A step of a story: its row in the list; in the lanes the message that it is about, else what the row caused and rests on. */
  function lightBeat(told) {
    events.show(told?.row.seq ?? null);
    if (told === null) lights.clear();
    else if (told.message === null) lights.row(told.row.seq);
    else lights.message(told.message.producer, told.message.number);
  }
  /** A panel with a time axis of its own takes the keys of the time diagram while it is shown. */
  const timed = Object.fromEntries(Object.entries(time.acts).map(([name, act]) => [name, () => (panels.actOf(name) ?? act)()]));
  const { earlier, later } = timed; // while a story is told its steps are what the two keys walk along
  const steps = { earlier: () => story.acts.previousBeat() || earlier(), later: () => story.acts.nextBeat() || later() };
  const side = required(root, "[data-part=side]");

  /** Esc takes back one thing at a time: the panel at the side, a story, then the light. */
  function clear() {
    if (looks.isOpen()) looks.close();
    else if (!story.close()) lights.clear();
  }

  const { signal } = new window.AbortController();
  letGoOfClickedButtons(document, signal);
  listenToKeys(
    document,
    { ...controls.acts, ...footer.acts, ...picture.acts, ...partitions.acts, ...timed, ...faults.acts, ...events.acts, ...header.acts, ...branches.acts, ...panels.acts, ...steps, clear, words: () => header.wordsShown(mirror.toggle()) },
    signal,
  );
  required(root, "[data-act=words]").addEventListener("click", () => header.wordsShown(mirror.toggle()));
  for (const act of ["magnify", "reduce", "follow", "together"]) required(root, `[data-act=${act}]`).addEventListener("click", stage.acts[act]);
  for (const [name, act] of Object.entries({ "time-in": "magnifyTime", "time-out": "reduceTime", "time-now": "followTime" })) required(root, `[data-act=${name}]`).addEventListener("click", time.acts[act]);
  new window.ResizeObserver(redraw).observe(required(root, "main"));

  let told = false;
  function draw(state, watched, shown_us, wall_ms) {
    if (!state.view || !watched) return false;
    root.classList.add("drawn");
    const theme = isGroupLab(state) ? appearance.theme() : themeFor(appearance.theme(), watched.clusters);
    const ratio = window.devicePixelRatio || 1;
    const at_us = appearance.calm() ? state.at_us : shown_us;
    if (partitions.update(state, watched, theme, ratio)) measured = {};
    if (state !== measured.state) measured = { state, room: appearance.room(theme, watched.clusters.length), spare: null };
    const lit = lights.now();
    picture.update(state, watched, theme, ratio, measured.room, lit);
    measured.spare ??= appearance.spare();
    const flying = picture.animate(state, watched, theme, at_us, ratio);
    const plane = picture.scene()?.plane;
    const curve_owed = plane && panels.shows("time") && time.update(state, watched, theme, { now_us: at_us, plane, ratio, wall_ms, spare: measured.spare, lit, landmarks: landmarks.of(state) });
    panels.update(state, watched, { theme, ratio, wall_ms, now_us: at_us, lit, landmarks });
    footer.update(state, watched, theme, at_us, ratio, wall_ms);
    controls.update(state, at_us);
    sentence.update(state, watched, wall_ms);
    asks.update(state, watched);
    story.update(state);
    const width = side.clientWidth;
    if (isGroupLab(state)) group_risk.update(state, watched);
    else {
      risk.update(state, watched);
      told_section.update(state, watched);
      building.update(state, watched, theme, ratio, width);
      caches.update(state, watched, theme, ratio, width);
    }
    choices.update(state, watched);
    branches.update(state);
    beginning.update(state);
    header.update(state, watched, theme, ratio);
    mirror.update(state, watched, wall_ms);
    const owed = events.update(state, theme, ratio, wall_ms);
    states.update(state);
    dialogs.update(state);
    return (state.playing && flying) || owed || curve_owed;
  }

  function heard(message) {
    states.heard(message);
    if (message.type !== "welcome") return;
    if (!told) story.openFromAddress();
    told = true;
  }

  return {
    draw,
    heard,
    say,
    redraw,
    scene: picture.scene,
    connection: states.connection,
  };
}
