/**
 * Plays a message's story in the footer: one sentence at a time, with the lab at its instant and its row highlighted.
 * It plays until the viewer steps. The address always contains the step, so that it can be shared.
 */

import { fragmentOf, placeOf, readingTime, storyPath } from "../model/addresses.js";
import { seconds } from "../model/format.js";
import { element, required, setText } from "../render/dom.js";

/** The bar of a message's story in the footer: its sentence, its instant, and one button for each step. */

const NOUNS = { duplicates: "duplicate", redeliveries: "redelivered", stranded: "not replicated", lost: "lost" };

/**
 * @param {Document} document
 * @param {HTMLElement} bar
 * @param {(at: number) => void} onStep called when a step was chosen
 */
export function makeStoryBar(document, bar, onStep) {
  const [name, count, time, words, pips] = ["name", "count", "time", "words", "pips"].map((part) => required(bar, `[data-part=story-${part}]`));
  const play_button = required(bar, "button[data-act=story-play]");

  return {
    /** Makes a button for each step of a story. */
    begin(story) {
      const buttonOf = (step, at) => element(document, "button", { type: "button", "aria-label": `Step ${at + 1}, ${seconds(step.at_us)} s: ${step.words}`, title: step.words, onclick: () => onStep(at) });
      pips.replaceChildren(...story.steps.map((step, at) => element(document, `li.${step.kind}`, {}, [buttonOf(step, at)])));
    },
    show(story, at) {
      const step = story.steps[at];
      setText(name, `${story.producer}/${story.sequence_id}, ${NOUNS[story.kind]}`);
      setText(count, `${at + 1} of ${story.steps.length}`);
      setText(time, `${seconds(step.at_us)} s`);
      setText(words, step.words);
      bar.dataset.step = step.kind;
      bar.classList.toggle("is-harm", story.harm);
      [...pips.children].forEach((pip, number) => {
        pip.classList.toggle("past", number < at);
        const button = required(pip, "button");
        if (number === at) button.setAttribute("aria-current", "step");
        else button.removeAttribute("aria-current");
      });
    },
    showPlaying(playing) {
      play_button.setAttribute("aria-pressed", String(playing));
      setText(play_button, playing ? "Pause" : "Play story");
    },
  };
}

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
 * @property {(shown: {row: any, message: {producer: string, number: number} | null} | null) => void} light highlights a step's row, or the message of the story; null clears the highlight
 * @property {() => void} onRoom called when the bar appeared or disappeared, because heights have changed
 */
export function makeStoryPlayer(parts) {
  const { document, root, window } = parts;
  const bar = required(root, "[data-part=story-bar]");
  const view = makeStoryBar(document, bar, (number) => moveBy(number - steps.at()));
  const steps = makeSteps(parts, view);
  const timer = makeTimer(window, view.showPlaying);
  const fetchStory = newestOf(parts);
  const acts = { nextStep: () => moveBy(1), previousStep: () => moveBy(-1), closeStory: close };
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

  function moveBy(by) {
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

  /** Opens the story that the address names, once the lab is loaded. */
  function openFromAddress() {
    const place = placeOf(window.location.hash);
    if (place) open(place, place.step, false);
  }

  return { acts, open, close, isOpen: steps.isOpen, update: steps.lightWhenThere, openFromAddress };
}

/** The open story and its present step: the lab seeks to it, and the address contains it. @param {StoryParts} parts */
function makeSteps(parts, view) {
  let story = null;
  let at = 0;
  let unlit = null; // the step to highlight once the lab has reached it
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
    /** @returns {boolean} whether there was a further step */
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

/** Seeks the owner's lab to a step, and pauses it. @param {StoryParts} parts */
function seekTo({ link, getState }, step) {
  const state = getState();
  if (!state.welcome?.owner) return;
  if (state.playing) link.pause();
  link.seekSeq(step.seq);
}

const writeAddress = (window, fragment) => window.history.replaceState(null, "", window.location.pathname + window.location.search + fragment);

/** Whether a step highlights the message itself: only after it was published, and only for steps about this message. */
function isAboutMessage(story, { row, seq }) {
  const there = story.steps.some((step) => step.kind === "published" && step.seq <= seq);
  const other = row.marker !== undefined || row.snapshot !== undefined || (row.producer !== undefined && (row.producer !== story.producer || row.sequence_id !== story.sequence_id));
  return there && !other;
}

/** Requests stories: null when another one was requested meanwhile, or after a failure, which is reported. @param {StoryParts} parts */
function newestOf({ requests, base, say }) {
  let asked = 0;
  async function fetchStory(which) {
    const own = ++asked;
    try {
      const story = await requests.get(storyPath(base, which.failover, which.kind, which));
      return own === asked ? story : null;
    } catch (reason) {
      if (own === asked) say({ error: reason.message, hint: reason.hint });
      return null;
    }
  }
  fetchStory.forget = () => (asked += 1);
  return fetchStory;
}

/** Advances after each pause, until `advance` returns false. */
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
