/**
 * The page of a comparison: plays the runs of a scenario on one clock, under every strategy, or on real brokers and simulated.
 * The server runs each column once. This module connects the parts; the model computes the state at an instant.
 */

import { columnsOf, missingWords, stepsOf } from "../model/comparison.js";
import { seconds } from "../model/format.js";
import { makeLoop } from "../playback/loop.js";
import { element, required, setText } from "../render/dom.js";
import { makeRequests } from "../wire/http.js";
import { keepToken } from "../wire/token.js";
import { writeMissing } from "./comparison_column.js";
import { makePicture } from "./comparison_picture.js";
import { makeSteering } from "./comparison_steering.js";

const ASK_EVERY_MS = 400;
/** The clock ends after the last event in a picture, this factor later. */
const AFTER = 1.05;
const LOOKS = ["(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)"];

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} page */
export function openComparison({ document, root, window, fetcher }) {
  const requests = makeRequests(fetcher, "");
  const parts = { document, root, window, requests };
  const status = required(document, "[data-part=status]");
  const now = () => window.performance.now();
  let picture = null;
  const loop = makeLoop({ request: (run) => window.requestAnimationFrame(run), now, tick: (wall_ms) => picture?.paint(wall_ms) ?? false });
  const steering = makeSteering(parts, { instants: () => (picture ? stepsOf(picture.columns) : []), changed });
  askUntilDone(parts, (words) => setText(status, words)).then(begin).catch(say);

  function begin(answer) {
    const moves = answer.columns.reduce((most, column) => (column.followed.length > most.length ? column.followed : most), []);
    if (!moves.length) return say(new Error("This run has no failover, so there is nothing to compare. A scenario needs a subscription.fail-over."));
    offerMoves(document, moves, (place) => choose(answer, place));
    steering.begin(answer.columns[0].until_us);
    new window.ResizeObserver(changed).observe(root);
    for (const query of LOOKS) window.matchMedia(query).addEventListener("change", changed);
    choose(answer, 0);
    setText(status, "");
  }

  function choose(answer, place) {
    const columns = columnsOf(answer, place);
    for (const column of answer.columns.filter((one) => !one.followed[place])) writeMissing(parts, column, missingWords(column));
    if (columns.some((column) => !column.followed.messages)) return say(new Error("The run has too many messages to draw; the command below counts it."));
    picture = makePicture(parts, columns, steering, (column) => openRun(parts, column.text, steering.at(now()).at_us).catch(say));
    steering.endAt(endOf(columns, answer.columns[0].until_us));
    changed();
  }

  /** After a choice or a resize: redraws everything, including the texts. */
  function changed() {
    picture?.forget();
    loop.wake();
  }

  function say(reason) {
    const failure = required(document, "[data-part=failure]");
    setText(status, "");
    failure.textContent = `${reason.message} ${reason.hint ?? ""}`.trim();
    failure.hidden = false;
  }

  return {
    /** For tests: the state shown. */
    getState: () => ({ ...steering.at(now()), columns: picture?.columns ?? [] }),
    seek: steering.seek,
    times_ms: loop.times_ms,
  };
}

/** Polls until the server has run every column. @throws {Error} when a run failed */
async function askUntilDone({ root, window, requests }, sayProgress) {
  for (;;) {
    const answer = await requests.get(root.dataset.address);
    if (answer.state === "failed") throw new Error(answer.words);
    if (answer.state !== "running") return answer;
    sayProgress(`Running: ${answer.done} of ${answer.of} done.`);
    await new Promise((resolve) => window.setTimeout(resolve, ASK_EVERY_MS));
  }
}

/** The list of failovers, when there are several: the chosen one is compared. */
function offerMoves(document, moves, choose) {
  const chooser = required(document, "select[data-part=failover]");
  chooser.replaceChildren(...moves.map((move, at) => element(document, "option", { value: at, text: `${at + 1}: ${move.subscription} from ${move.from} to ${move.to} at ${seconds(move.at_us, 1)} s` })));
  required(document, "[data-part=chooser]").hidden = moves.length < 2;
  chooser.addEventListener("change", () => choose(Number(chooser.value)));
}

/** Opens a column's run as a new lab of the visitor, at this instant. */
async function openRun({ root, window, requests }, yaml, at_us) {
  const made = await requests.post(root.dataset.create, { yaml, at_us: Math.round(at_us) });
  keepToken(made.id, made.token, window);
  window.location.assign(`${made.url}#token=${made.token}`);
}

/** End of the clock: when the last picture stops changing or the window closes, so that it does not run through an hour without events. */
function endOf(columns, until_us) {
  const last = Math.max(...columns.flatMap(({ followed, sorted }) => [followed.at_us, ...[sorted.stored, sorted.acknowledged, sorted.replicated, sorted.duplicates].map((list) => list.at(-1) ?? 0)]));
  return Math.min(until_us, last * AFTER);
}
