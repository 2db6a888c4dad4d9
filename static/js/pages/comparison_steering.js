/**
 * Controls a comparison: one clock of the page, and the controls that play, pause, step and scrub it and set its speed.
 * It does not depend on columns: `instants` are those that steps stop at, `changed` is called when the viewer moved the clock.
 */

import { seconds } from "../model/format.js";
import { atSpeed, clockUpTo, paused, played, settled, shown, movedTo } from "../playback/own_clock.js";
import { element, required, setText } from "../render/dom.js";
import { blurClickedButtons, listenToKeys } from "../transport/keys.js";
import { SPEEDS, placeOfSpeed, speedText } from "../transport/speeds.js";

/** The initial speed plays a whole run in at most this time. */
const LONGEST_PLAY_S = 30;
/** How far an arrow key on the time slider moves it, and how far with Shift. */
const NUDGE_US = 100_000;
const SHIFTED_NUDGE_US = 1_000_000;
const NUDGES = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 };

/**
 * @param {{document: Document, window: import("../render/dom.js").PageWindow}} page
 * @param {{instants: () => number[], changed: () => void}} given
 */
export function makeSteering({ document, window }, { instants, changed }) {
  const now = () => window.performance.now();
  let clock = clockUpTo(1, 1);
  const bar = makeBar(document);

  function set(next) {
    clock = next;
    bar.writeSpeed(clock.speed);
    changed();
  }

  const seek = (at_us) => set(movedTo(clock, at_us, now()));
  const speedBy = (by) => set(atSpeed(clock, SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, placeOfSpeed(clock.speed) + by))], now()));

  function step(by) {
    const at_us = shown(clock, now());
    const to = by > 0 ? instants().find((instant) => instant > at_us) : instants().findLast((instant) => instant < at_us);
    set(movedTo(paused(clock, now()), to ?? (by > 0 ? clock.end_us : 0), now()));
  }

  function listen() {
    const playPause = () => set(clock.playing ? paused(clock, now()) : played(clock, now()));
    bar.listen({ playPause, seek, speed: (speed) => set(atSpeed(clock, speed, now())), nudge: (by_us) => seek(shown(clock, now()) + by_us) });
    const acts = { playPause, step: () => step(1), stepBack: () => step(-1), slower: () => speedBy(-1), faster: () => speedBy(1) };
    listenToKeys(document, acts, new window.AbortController().signal);
    blurClickedButtons(document, new window.AbortController().signal);
  }

  return {
    /** Shows the controls for a run of this length, at a speed that plays it in half a minute at most. */
    begin(until_us) {
      clock = clockUpTo(until_us, SPEEDS[placeOfSpeed(Math.max(1, until_us / 1e6 / LONGEST_PLAY_S))]);
      bar.begin(clock.speed);
      listen();
    },
    /** Sets the end of the clock. */
    endAt(end_us) {
      clock = { ...clock, end_us };
      bar.endAt(end_us);
    },
    /** The clock at an instant of the wall clock: {at_us, end_us, playing, speed}. */
    at(wall_ms) {
      clock = settled(clock, wall_ms);
      return { at_us: shown(clock, wall_ms), end_us: clock.end_us, playing: clock.playing, speed: clock.speed };
    },
    /** Updates the controls; `at_us` is the instant that the pictures show. */
    write: (exact_us, at_us) => bar.write(clock, exact_us, at_us),
    /** Updates the text for screen readers: seldom, since it is read aloud. */
    say: bar.say,
    seek: (at_us) => set(movedTo(paused(clock, now()), at_us, now())),
  };
}

/** The controls: the play button, the speed, the time slider and the instant as text. */
function makeBar(document) {
  const steering = required(document, "[data-part=steering]");
  const scrub = required(document, "input[data-part=scrub]");
  const clock_words = required(document, "[data-part=clock]");
  const speed_choice = required(document, "select[data-part=speed]");
  const play_button = required(document, "button[data-act=play]");

  return {
    listen({ playPause, seek, speed, nudge }) {
      play_button.addEventListener("click", playPause);
      speed_choice.addEventListener("change", () => speed(Number(speed_choice.value)));
      scrub.addEventListener("input", () => seek(Number(scrub.value)));
      scrub.addEventListener("keydown", (event) => {
        const by = NUDGES[event.key];
        if (by === undefined) return;
        event.preventDefault();
        nudge(by * (event.shiftKey ? SHIFTED_NUDGE_US : NUDGE_US));
      });
    },
    begin(speed) {
      speed_choice.replaceChildren(...SPEEDS.map((one) => element(document, "option", { value: one, text: speedText(one) })));
      speed_choice.value = String(speed);
      steering.hidden = false;
    },
    endAt(end_us) {
      scrub.max = String(Math.round(end_us));
    },
    writeSpeed(speed) {
      speed_choice.value = String(speed);
    },
    write(clock, exact_us, at_us) {
      setText(play_button, clock.playing ? "Pause" : exact_us >= clock.end_us ? "Again" : "Play");
      setText(clock_words, `${seconds(at_us)} s`);
      scrub.value = String(Math.round(exact_us));
    },
    say: (at_us) => scrub.setAttribute("aria-valuetext", `${seconds(at_us)} seconds`),
  };
}
