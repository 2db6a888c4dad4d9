/**
 * A comparison: the server runs a scenario under every strategy, once; the page plays the three runs on one clock of its own,
 * which steers all columns together. Knows its parts; what is true at an instant is the model's.
 */

import { columnsOf, highestFigure, missingWords, stepsOf } from "../model/comparison.js";
import { seconds } from "../model/format.js";
import { makeLoop } from "../playback/loop.js";
import { element, required, setText } from "../render/dom.js";
import { readTheme } from "../render/theme.js";
import { makeRequests } from "../wire/http.js";
import { keepToken } from "../wire/token.js";
import { makeColumn, writeMissing } from "./comparison_column.js";
import { makeNumbers } from "./comparison_numbers.js";
import { makeSteering } from "./comparison_steering.js";

const ASK_EVERY_MS = 400;
/** With reduced motion the instant shown moves in steps of this many µs. */
const CALM_STEP_US = 500_000;
/** Words follow at most this often while playing. */
const WORDS_EVERY_MS = 250;
/** A run goes on after the last thing that happens in a picture for this share of it, then the clock ends. */
const AFTER = 1.05;
/** As in the stylesheet. */
const NARROW_PX = 800;
const LOOKS = ["(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)"];

export function openComparison({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const part = (name) => required(document, `[data-part=${name}]`);
  const [status, failure] = ["status", "failure"].map(part);
  const parts = { document, root, window };
  const now = () => window.performance.now();
  let told = null;
  let picture = null;
  const loop = makeLoop({ request: (run) => window.requestAnimationFrame(run), now, tick: (wall_ms) => picture?.paint(wall_ms) ?? false });
  const steering = makeSteering(parts, { instants: () => (picture ? stepsOf(picture.columns) : []), changed });
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
    steering.begin(told.columns[0].until_us);
    new window.ResizeObserver(changed).observe(root);
    for (const query of LOOKS) window.matchMedia(query).addEventListener("change", changed);
    choose(0);
    setText(status, "");
  }

  function choose(place) {
    const columns = columnsOf(told, place);
    for (const column of told.columns.filter((one) => !one.followed[place])) writeMissing(parts, column, missingWords(column));
    if (columns.some((column) => !column.followed.messages)) return say(new Error("The run has too many messages to draw here; the command below counts it."));
    picture = makePicture(parts, columns, steering, open);
    steering.endAt(endOf(columns, told.columns[0].until_us));
    changed();
  }

  /** Something was chosen, or the page has another size: everything is drawn anew, words too. */
  function changed() {
    picture?.forget();
    loop.wake();
  }

  async function open(column) {
    try {
      const made = await requests.post(root.dataset.create, { yaml: column.text, at_us: Math.round(steering.at(now()).at_us) });
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
    getState: () => ({ ...steering.at(now()), columns: picture?.columns ?? [] }),
    seek: steering.seek,
    times_ms: loop.times_ms,
  };
}

/** Where the last picture stands still, or the window closes: nobody has to watch an hour of nothing. */
function endOf(columns, until_us) {
  const last = Math.max(...columns.flatMap(({ followed, sorted }) => [followed.at_us, ...[sorted.stored, sorted.acknowledged, sorted.told, sorted.twice].map((list) => list.at(-1) ?? 0)]));
  return Math.min(until_us, last * AFTER);
}

/** The columns and their table at one instant of the clock; `paint` answers whether the clock goes on. */
function makePicture(parts, columns, steering, open) {
  const { document, window } = parts;
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const most = Math.max(...columns.map((column) => column.total));
  const highest = highestFigure(columns);
  const views = columns.map((column) => makeColumn(parts, column, { most, open }));
  const numbers = makeNumbers(parts, columns);
  let theme = null;
  let words_ms = -Infinity;

  function paint(wall_ms) {
    const { at_us: exact_us, end_us, playing } = steering.at(wall_ms);
    const at_us = calm.matches && playing ? Math.floor(exact_us / CALM_STEP_US) * CALM_STEP_US : exact_us;
    theme ??= readTheme(window.getComputedStyle(document.documentElement));
    const narrow = document.documentElement.clientWidth < NARROW_PX;
    for (const view of views) view.paint({ theme, narrow, ratio: window.devicePixelRatio || 1, at_us, end_us, highest });
    steering.write(exact_us, at_us);
    if (!playing || wall_ms - words_ms >= WORDS_EVERY_MS) {
      words_ms = wall_ms;
      steering.say(at_us);
      for (const view of views) view.write(at_us);
      numbers.write(at_us);
    }
    return playing;
  }

  return {
    columns,
    paint,
    forget() {
      theme = null;
      words_ms = -Infinity;
    },
  };
}
