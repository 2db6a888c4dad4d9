/**
 * A message's story at the foot of the page: one sentence at a time, with the lab at its instant and its row lit. Plays by
 * itself until somebody steps; the address always names the beat, so it can be passed on.
 */

import { seconds } from "../model/format.js";
import { fragmentOf, placeOf, readingTime, storyPath } from "../model/story_address.js";
import { element, required, setText } from "../render/dom.js";

const NOUNS = { duplicates: "seen twice", redeliveries: "delivered again", stranded: "stranded", lost: "lost" };

/**
 * @param {object} parts of the page (see lab_page.js), and
 * @param {(notice: object) => void} parts.say
 * @param {(told: {row: object, message: {producer: string, number: number} | null} | null) => void} parts.light lights a beat's row, or the message that it is about; null puts the light out
 * @param {() => void} parts.onRoom the bar came or went: heights have changed
 */
export function makeStoryPlayer({ document, root, window, link, requests, base, getState, say, light, onRoom }) {
  const bar = required(root, "[data-part=story-bar]");
  const parts = Object.fromEntries(["name", "count", "time", "words", "pips"].map((name) => [name, required(bar, `[data-part=story-${name}]`)]));
  const play_button = required(bar, "[data-act=story-play]");
  let story = null;
  let at = 0;
  let timer = null;
  let asked = 0;
  let unlit = null; // the beat to light once the lab has come to it

  const acts = { nextBeat: () => step(1), previousBeat: () => step(-1), closeStory: close };
  for (const [act, run] of Object.entries({ "story-next": acts.nextBeat, "story-previous": acts.previousBeat, "story-close": close, "story-play": togglePlay, "story-share": share })) {
    required(bar, `[data-act=${act}]`).addEventListener("click", run);
  }

  /** @param {{failover: number, kind: string, place?: number, producer?: string, number?: number}} which */
  async function open(which, beat = 1, playing = true) {
    const mine = ++asked;
    try {
      const found = await requests.get(storyPath(base, which.failover, which.kind, which));
      if (mine !== asked) return;
      story = found;
      writePips();
      const was_hidden = bar.hidden;
      bar.hidden = false;
      root.classList.add("telling");
      if (was_hidden) onRoom();
      window.scrollTo({ top: 0, behavior: "instant" });
      show(Math.min(beat, story.beats.length) - 1);
      if (playing) togglePlay();
    } catch (reason) {
      if (mine === asked) say({ error: reason.message, hint: reason.hint });
    }
  }

  function show(next) {
    at = Math.max(0, Math.min(story.beats.length - 1, next));
    const beat = story.beats[at];
    setText(parts.name, `${story.producer}/${story.sequence_id}, ${NOUNS[story.kind]}`);
    setText(parts.count, `${at + 1} of ${story.beats.length}`);
    setText(parts.time, `${seconds(beat.at_us)} s`);
    setText(parts.words, beat.words);
    bar.dataset.beat = beat.kind;
    [...parts.pips.children].forEach((pip, number) => {
      pip.classList.toggle("past", number < at);
      if (number === at) pip.firstChild.setAttribute("aria-current", "step");
      else pip.firstChild.removeAttribute("aria-current");
    });
    const state = getState();
    if (state.welcome?.owner) {
      if (state.playing) link.pause();
      link.seekSeq(beat.seq);
    }
    unlit = beat;
    window.history.replaceState(null, "", window.location.pathname + window.location.search + addressOf());
  }

  /** Whether a beat is best seen at the message itself: not before it was there, nor while something else is spoken of. */
  function aboutMessage({ row, seq }) {
    const there = story.beats.some((beat) => beat.kind === "published" && beat.seq <= seq);
    const other = row.marker !== undefined || row.snapshot !== undefined || (row.producer !== undefined && (row.producer !== story.producer || row.sequence_id !== story.sequence_id));
    return there && !other;
  }

  const addressOf = () => fragmentOf({ failover: story.failover, kind: story.kind, producer: story.producer, number: story.sequence_id, beat: at + 1 });

  function step(by) {
    if (!story) return false;
    stop();
    show(at + by);
    return true;
  }

  function togglePlay() {
    if (timer !== null) {
      stop();
      return;
    }
    if (at === story.beats.length - 1) show(0);
    wait();
    sayPlaying();
  }

  function wait() {
    timer = window.setTimeout(() => {
      if (at === story.beats.length - 1) {
        stop();
        return;
      }
      show(at + 1);
      wait();
    }, readingTime(story.beats[at].words));
  }

  function stop() {
    window.clearTimeout(timer);
    timer = null;
    sayPlaying();
  }

  function sayPlaying() {
    play_button.setAttribute("aria-pressed", String(timer !== null));
    setText(play_button, timer === null ? "Tell it" : "Pause");
  }

  function close() {
    if (!story) return false;
    asked += 1;
    stop();
    story = unlit = null;
    bar.hidden = true;
    root.classList.remove("telling");
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
    light(null);
    onRoom();
    return true;
  }

  async function share() {
    const address = window.location.origin + window.location.pathname + addressOf();
    try {
      await window.navigator.clipboard.writeText(address);
      say({ error: "The link to this sentence is copied.", hint: "Whoever opens it sees this lab at this step of the story.", tone: "plain" });
    } catch {
      say({ error: "This is the link to this sentence:", hint: address, tone: "plain" });
    }
  }

  function writePips() {
    parts.pips.replaceChildren(
      ...story.beats.map((beat, number) =>
        element(document, `li.${beat.kind}`, {}, [
          element(document, "button", { type: "button", "aria-label": `Step ${number + 1}, ${seconds(beat.at_us)} s: ${beat.words}`, title: beat.words, onclick: () => step(number - at) }),
        ]),
      ),
    );
  }

  return {
    acts,
    open,
    close,
    isOpen: () => story !== null,
    update(state) {
      if (unlit === null || state.view.seq <= unlit.seq) return;
      light({ row: unlit.row, message: aboutMessage(unlit) ? { producer: story.producer, number: story.sequence_id } : null });
      unlit = null;
    },
    /** The address names a story: told once the lab is there. */
    openFromAddress() {
      const place = placeOf(window.location.hash);
      if (place) open(place, place.beat, false);
    },
  };
}
