/**
 * A comparison: the server runs a scenario under every strategy, once; the page plays the three runs on one clock of its own.
 * Play, pause, speed, scrub and steps steer all columns together. Knows its parts; what is true at an instant is the model's.
 */

import { columnsOf, highestFigure, missingWords, stepsOf } from "../model/comparison.js";
import { seconds } from "../model/format.js";
import { makeLoop } from "../playback/loop.js";
import { atSpeed, clockUpTo, paused, played, settled, shown, soughtTo } from "../playback/own_clock.js";
import { element, required, setText } from "../render/dom.js";
import { readTheme } from "../render/theme.js";
import { listenToKeys, letGoOfClickedButtons } from "../transport/keys.js";
import { SPEEDS, placeOfSpeed, speedText } from "../transport/speeds.js";
import { makeRequests } from "../wire/http.js";
import { keepToken } from "../wire/token.js";
import { makeColumn, writeMissing } from "./comparison_column.js";
import { makeNumbers } from "./comparison_numbers.js";

const ASK_EVERY_MS = 400;
/** A whole run lasts at most this long when it is first played. */
const LONGEST_PLAY_S = 30;
/** With reduced motion the instant shown moves in steps of this many µs. */
const CALM_STEP_US = 500_000;
/** Words follow at most this often while playing. */
const WORDS_EVERY_MS = 250;
/** A run goes on after the last thing that happens in a picture for this share of it, then the clock ends. */
const AFTER = 1.05;
/** As in the stylesheet. */
const NARROW_PX = 800;

export function openComparison({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const part = (name) => required(document, `[data-part=${name}]`);
  const [status, failure, steering, scrub, clock_words, speed_choice] = ["status", "failure", "steering", "scrub", "clock", "speed"].map(part);
  const play_button = required(document, "[data-act=play]");
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const parts = { document, root, window };
  let told = null;
  let views = [];
  let columns = [];
  let numbers = null;
  let clock = clockUpTo(1, 1);
  let highest = 1;
  let words_ms = -Infinity;
  let theme = null;
  const loop = makeLoop({ request: (run) => window.requestAnimationFrame(run), now: () => window.performance.now(), tick });
  ask();

  async function ask() {
    try {
      const answer = await requests.get(root.dataset.address);
      if (answer.state === "running") {
        setText(status, `Running it under each strategy: ${answer.done} of ${answer.of} done.`);
        window.setTimeout(ask, ASK_EVERY_MS);
      } else if (answer.state === "failed") say(new Error(answer.words));
      else begin(answer);
    } catch (reason) {
      say(reason);
    }
  }

  function begin(answer) {
    told = answer;
    const moves = told.columns.reduce((most, column) => (column.followed.length > most.length ? column.followed : most), []);
    if (!moves.length) return say(new Error("Nobody moves in this run, so there is nothing to compare. A scenario with a subscription.fail-over can be."));
    const chooser = part("failover");
    chooser.replaceChildren(...moves.map((move, at) => element(document, "option", { value: at, text: `${at + 1}: ${move.subscription} from ${move.from} to ${move.to} at ${seconds(move.at_us, 1)} s` })));
    part("chooser").hidden = moves.length < 2;
    chooser.addEventListener("change", () => choose(Number(chooser.value)));
    speed_choice.replaceChildren(...SPEEDS.map((speed) => element(document, "option", { value: speed, text: speedText(speed) })));
    const end_us = told.columns[0].until_us;
    clock = clockUpTo(end_us, SPEEDS[placeOfSpeed(Math.max(1, end_us / 1e6 / LONGEST_PLAY_S))]);
    speed_choice.value = String(clock.speed);
    scrub.max = String(end_us);
    listen();
    choose(0);
    steering.hidden = false;
    setText(status, "");
  }

  function choose(place) {
    const found = columnsOf(told, place);
    for (const column of told.columns.filter((one) => !one.followed[place])) writeMissing(parts, column, missingWords(column));
    if (found.some((column) => !column.followed.messages)) return say(new Error("The run has too many messages to draw here; the command below counts it."));
    columns = found;
    highest = highestFigure(columns);
    const most = Math.max(...columns.map((column) => column.total));
    views = columns.map((column) => makeColumn(parts, column, { most, open }));
    numbers = makeNumbers(parts, columns);
    clock = { ...clock, end_us: endOf(columns) };
    scrub.max = String(Math.round(clock.end_us));
    changed();
  }

  /** Where the last picture stands still, or the window closes: nobody has to watch an hour of nothing. */
  function endOf(found) {
    const until_us = told.columns[0].until_us;
    const last = Math.max(...found.flatMap(({ followed, sorted }) => [followed.at_us, ...[sorted.stored, sorted.acknowledged, sorted.told, sorted.twice].map((list) => list.at(-1) ?? 0)]));
    return Math.min(until_us, last * AFTER);
  }

  function listen() {
    const now = () => window.performance.now();
    const acts = {
      playPause: () => set(clock.playing ? paused(clock, now()) : played(clock, now())),
      step: () => step(1),
      stepBack: () => step(-1),
      slower: () => speedBy(-1),
      faster: () => speedBy(1),
    };
    const speedBy = (by) => set(atSpeed(clock, SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, placeOfSpeed(clock.speed) + by))], now()));
    const set = (next) => {
      clock = next;
      speed_choice.value = String(clock.speed);
      changed();
    };
    function step(by) {
      const at_us = shown(clock, now());
      const places = stepsOf(columns);
      const to = by > 0 ? places.find((instant) => instant > at_us) : places.findLast((instant) => instant < at_us);
      set(soughtTo(paused(clock, now()), to ?? (by > 0 ? clock.end_us : 0), now()));
    }
    play_button.addEventListener("click", acts.playPause);
    speed_choice.addEventListener("change", () => set(atSpeed(clock, Number(speed_choice.value), now())));
    scrub.addEventListener("input", () => set(soughtTo(clock, Number(scrub.value), now())));
    scrub.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      const step_us = event.shiftKey ? 1_000_000 : 100_000;
      set(soughtTo(clock, shown(clock, now()) + by * step_us, now()));
    });
    listenToKeys(document, acts, new window.AbortController().signal);
    letGoOfClickedButtons(document, new window.AbortController().signal);
    new window.ResizeObserver(changed).observe(root);
    for (const query of ["(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)"]) window.matchMedia(query).addEventListener("change", changed);
  }

  /** Something was chosen, or the page has another size: everything is drawn anew, words too. */
  function changed() {
    theme = null;
    words_ms = -Infinity;
    loop.wake();
  }

  function tick(wall_ms) {
    if (!views.length) return false;
    clock = settled(clock, wall_ms);
    const exact_us = shown(clock, wall_ms);
    const at_us = calm.matches && clock.playing ? Math.floor(exact_us / CALM_STEP_US) * CALM_STEP_US : exact_us;
    theme ??= readTheme(window.getComputedStyle(document.documentElement));
    const narrow = document.documentElement.clientWidth < NARROW_PX;
    const given = { theme, narrow, ratio: window.devicePixelRatio || 1, at_us, end_us: clock.end_us, highest };
    for (const view of views) view.paint(given);
    setText(play_button, clock.playing ? "Pause" : exact_us >= clock.end_us ? "Again" : "Play");
    setText(clock_words, `${seconds(at_us)} s`);
    scrub.value = String(Math.round(exact_us));
    if (!clock.playing || wall_ms - words_ms >= WORDS_EVERY_MS) {
      words_ms = wall_ms;
      scrub.setAttribute("aria-valuetext", `${seconds(at_us)} seconds`);
      for (const view of views) view.write(at_us);
      numbers.write(at_us);
    }
    return clock.playing;
  }

  async function open(column) {
    try {
      const made = await requests.post(root.dataset.create, { yaml: column.text, at_us: Math.round(shown(clock, window.performance.now())) });
      keepToken(made.id, made.token, window);
      window.location.assign(`${made.url}#token=${made.token}`);
    } catch (reason) {
      say(reason);
    }
  }

  function say(reason) {
    setText(status, "");
    failure.textContent = `${reason.message} ${reason.hint ?? ""}`.trim();
    failure.hidden = false;
  }

  return {
    /** For tests: what is shown. */
    getState: () => ({ at_us: shown(clock, window.performance.now()), playing: clock.playing, speed: clock.speed, end_us: clock.end_us, columns }),
    seek: (at_us) => {
      clock = soughtTo(paused(clock, window.performance.now()), at_us, window.performance.now());
      changed();
    },
    times_ms: loop.times_ms,
  };
}
