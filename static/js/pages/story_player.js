/**
 * A message's story at the foot of the page: one sentence at a time, with the lab at its instant and its row lit. Plays by
 * itself until the viewer steps; the address always names the step, so it can be passed on.
 */

import { fragmentOf, placeOf, readingTime, storyPath } from "../model/story_address.js";
import { required } from "../render/dom.js";
import { makeStoryBar } from "./story_bar.js";

/**
 * @param {StoryParts} parts
 *
 * @typedef {object} StoryParts parts of the page (see lab_page.js), and
 * @property {Document} document
 * @property {HTMLElement} root
 * @property {import("../render/dom.js").PageWindow} window
 * @property {ReturnType<import("../transport/lab_link.js").makeLabLink>} link
 * @property {ReturnType<import("../wire/http.js").makeRequests>} requests
 * @property {string} base path of the lab, ending in "/"
 * @property {() => import("../model/state.js").LabState} getState
 * @property {(notice: object) => void} say
 * @property {(shown: {row: any, message: {producer: string, number: number} | null} | null) => void} light lights a step's row, or the message that it is about; null puts the light out
 * @property {() => void} onRoom the bar came or went: heights have changed
 */
export function makeStoryPlayer(parts) {
  const { document, root, window } = parts;
  const bar = required(root, "[data-part=story-bar]");
  const view = makeStoryBar(document, bar, (number) => goBy(number - steps.at()));
  const steps = makeSteps(parts, view);
  const timer = makeTimer(window, view.showPlaying);
  const fetchStory = newestOf(parts);
  const acts = { nextStep: () => goBy(1), previousStep: () => goBy(-1), closeStory: close };
  const buttons = { next: acts.nextStep, previous: acts.previousStep, close, play: togglePlay, share: () => shareAddress(parts, steps.address()) };
  for (const [act, run] of Object.entries(buttons)) required(bar, `[data-act=story-${act}]`).addEventListener("click", run);

  /** @param {{failover: number, kind: string, place?: number, producer?: string, number?: number}} which */
  async function open(which, step = 1, playing = true) {
    const story = await fetchStory(which);
    if (!story) return;
    showBar(parts, bar);
    steps.begin(story, step - 1);
    if (playing) togglePlay();
  }

  function goBy(by) {
    if (!steps.isOpen()) return false;
    timer.stop();
    steps.show(steps.at() + by);
    return true;
  }

  function togglePlay() {
    if (timer.isRunning()) return timer.stop();
    if (steps.isLast()) steps.show(0);
    return timer.run(steps.readingTime, steps.advance);
  }

  function close() {
    if (!steps.isOpen()) return false;
    fetchStory.forget();
    timer.stop();
    steps.end();
    hideBar(parts, bar);
    return true;
  }

  /** The address names a story: it is opened once the lab is there. */
  function openFromAddress() {
    const place = placeOf(window.location.hash);
    if (place) open(place, place.step, false);
  }

  return { acts, open, close, isOpen: steps.isOpen, update: steps.lightWhenThere, openFromAddress };
}

/** The story that is open, and at which of its steps it is: the lab goes there, and the address names it. @param {StoryParts} parts */
function makeSteps(parts, view) {
  let story = null;
  let at = 0;
  let unlit = null; // the step to light once the lab has come to it
  const isLast = () => at === story.steps.length - 1;
  const address = () => fragmentOf({ failover: story.failover, kind: story.kind, producer: story.producer, number: story.sequence_id, step: at + 1 });

  function show(next) {
    at = Math.max(0, Math.min(story.steps.length - 1, next));
    unlit = story.steps[at];
    view.show(story, at);
    seekTo(parts, unlit);
    writeAddress(parts.window, address());
  }

  return {
    begin(next, place) {
      story = next;
      view.begin(story);
      show(place);
    },
    end() {
      story = unlit = null;
    },
    show,
    isOpen: () => story !== null,
    at: () => at,
    isLast,
    address,
    readingTime: () => readingTime(story.steps[at].words),
    /** @returns {boolean} whether there was a step to go to */
    advance() {
      if (isLast()) return false;
      show(at + 1);
      return true;
    },
    lightWhenThere(state) {
      if (unlit === null || state.view.seq <= unlit.seq) return;
      parts.light({ row: unlit.row, message: isAboutMessage(story, unlit) ? { producer: story.producer, number: story.sequence_id } : null });
      unlit = null;
    },
  };
}

/** @param {StoryParts} parts */
function showBar({ root, window, onRoom }, bar) {
  const was_hidden = bar.hidden;
  bar.hidden = false;
  root.classList.add("telling");
  if (was_hidden) onRoom();
  window.scrollTo({ top: 0, behavior: "instant" });
}

/** @param {StoryParts} parts */
function hideBar({ root, window, light, onRoom }, bar) {
  bar.hidden = true;
  root.classList.remove("telling");
  writeAddress(window, "");
  light(null);
  onRoom();
}

/** The owner's lab goes to a step, and stands still there. @param {StoryParts} parts */
function seekTo({ link, getState }, step) {
  const state = getState();
  if (!state.welcome?.owner) return;
  if (state.playing) link.pause();
  link.seekSeq(step.seq);
}

const writeAddress = (window, fragment) => window.history.replaceState(null, "", window.location.pathname + window.location.search + fragment);

/** Whether a step is best seen at the message itself: not before it was there, nor while it is about something else. */
function isAboutMessage(story, { row, seq }) {
  const there = story.steps.some((step) => step.kind === "published" && step.seq <= seq);
  const other = row.marker !== undefined || row.snapshot !== undefined || (row.producer !== undefined && (row.producer !== story.producer || row.sequence_id !== story.sequence_id));
  return there && !other;
}

/** Fetches stories: null when another was asked for meanwhile or the request failed, which is then said. @param {StoryParts} parts */
function newestOf({ requests, base, say }) {
  let asked = 0;
  async function fetchStory(which) {
    const mine = ++asked;
    try {
      const story = await requests.get(storyPath(base, which.failover, which.kind, which));
      return mine === asked ? story : null;
    } catch (reason) {
      if (mine === asked) say({ error: reason.message, hint: reason.hint });
      return null;
    }
  }
  fetchStory.forget = () => (asked += 1);
  return fetchStory;
}

/** Goes on by itself: after each pause `advance` is called, until it answers false. */
function makeTimer(window, showPlaying) {
  let timer = null;

  function stop() {
    window.clearTimeout(timer);
    timer = null;
    showPlaying(false);
  }

  function wait(pauseMs, advance) {
    timer = window.setTimeout(() => (advance() ? wait(pauseMs, advance) : stop()), pauseMs());
  }

  return {
    stop,
    isRunning: () => timer !== null,
    run(pauseMs, advance) {
      wait(pauseMs, advance);
      showPlaying(true);
    },
  };
}

/** @param {StoryParts} parts */
async function shareAddress({ window, say }, fragment) {
  const address = window.location.origin + window.location.pathname + fragment;
  try {
    await window.navigator.clipboard.writeText(address);
    say({ error: "The link to this step is copied.", hint: "It opens this lab at this step of the story.", tone: "plain" });
  } catch {
    say({ error: "This is the link to this step:", hint: address, tone: "plain" });
  }
}
