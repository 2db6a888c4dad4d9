/** The bar of a guided tour in the footer: title, text, place in the tour, the question of a step, and the predictions of a class. */

import { counted } from "../model/format.js";
import { noteToured } from "../model/played.js";
import { PAGE_PARTS, cutAtTerms, histogramOf, judged, partsOf, partsShown, progressOf, readGuess, tourFragment, tourPlaceOf } from "../model/tour.js";
import { untilDone } from "../wire/http.js";
import { keepToken, makePageName } from "../wire/token.js";
import { allOf, element, required, setText } from "../render/dom.js";
import { termLink } from "../render/terms.js";

/** The predictions of a class at a step of a tour: their number, and a histogram once the presenter reveals it. No name is sent. */

/**
 * @typedef {object} Step the step that is shown
 * @property {import("../model/tour.js").TourStep[]} steps
 * @property {number} at from 0
 * @property {import("../model/tour.js").Judge} judge
 */

/**
 * @param {Document} document
 * @param {HTMLElement} bar of the tour
 * @param {{reveal: (step: number) => void, onRoom: () => void}} on reveal: shows the predictions of a step, from 1
 */
export function makeTourClass(document, bar, on) {
  const box = required(bar, "[data-part=tour-class]");
  const [words, chart] = ["words", "chart"].map((part) => required(box, `[data-part=tour-class-${part}]`));
  const button = required(box, "button[data-act=tour-class-show]");
  /** @type {{presentation: import("./presenting.js").Presentation, role: string, drawn: string}} */
  const held = { presentation: { code: null }, role: "none", drawn: "" };
  button.addEventListener("click", () => held.presentation.predictions && on.reveal(held.presentation.predictions.step));

  /** @param {Step} step */
  function draw({ steps, at, judge }) {
    const { predictions, followers = 0 } = held.presentation;
    const ask = predictions && (predictions.step === at + 1 || predictions.step === at) ? (steps[predictions.step - 1]?.ask ?? null) : null;
    const answered = predictions?.step === at;
    const found = ask && predictions.counts ? histogramOf(ask, predictions.counts, judge, answered) : null;
    const others = found ? found.others + predictions.others : 0;
    const hidden = !ask || (answered && predictions.answers === 0);
    const key = JSON.stringify([hidden, held.role, predictions?.answers, followers, found, answered]);
    if (key === held.drawn) return;
    held.drawn = key;
    box.hidden = hidden;
    on.onRoom();
    if (hidden) return;
    setText(words, wordsOf(predictions.answers, followers, found, others, ask.unit));
    button.hidden = held.role !== "presenter" || found !== null || predictions.answers === 0;
    chart.hidden = found === null;
    chart.replaceChildren(...(found ? barsOf(document, found.bars) : []));
  }

  return {
    /** @param {import("./presenting.js").Presentation} presentation @param {string} role */
    take: (presentation, role) => Object.assign(held, { presentation, role }),
    draw,
    close() {
      box.hidden = true;
      held.drawn = "";
    },
  };
}

function wordsOf(answers, followers, found, others, unit) {
  if (!found) return `${answers} of ${counted(followers, "follower")} predicted.`;
  return `${counted(answers, "prediction")} of the class${unit ? `, in ${unit}` : ""}${others ? `; ${others} more are not shown` : ""}`;
}

/** @param {Document} document @param {import("../model/tour.js").Bar[]} bars */
function barsOf(document, bars) {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  return bars.map(({ label, count, right }) => {
    const bar = element(document, "span.class-bar", { "aria-hidden": "true" });
    bar.style.height = `${Math.round((count / most) * 100)}%`;
    const says = `${label}: ${counted(count, "prediction")}${right ? ", as in this run" : ""}`;
    return element(document, right ? "li.right" : "li", { "aria-label": says }, [element(document, "span.class-room", {}, [element(document, "b", { text: String(count) }), bar]), element(document, "span.class-label", { text: right ? `✓ ${label}` : label })]);
  });
}

/** The tour's bar on the page of a follower: the presenter's step, and the learner's own predictions. The lab is not touched. */

/**
 * @typedef {object} FollowingParts
 * @property {HTMLElement} root
 * @property {HTMLElement} bar
 * @property {ReturnType<makeTourBar>} view
 * @property {() => Promise<{steps: import("../model/tour.js").TourStep[], title: string} | null>} fetchTour
 * @property {() => void} onRoom called when the bar appeared or disappeared
 * @property {() => import("./lab_view.js").Predictions | null} predictions of the protocol's picture
 * @property {(step: number, guess: string) => void} send sends a prediction to the presenter's room
 * @property {() => void} uncover scrolls the newest end of the logs into view
 */
/**
 * @typedef {object} Followed the tour that is followed
 * @property {import("../model/tour.js").TourStep[]} steps
 * @property {number} at the step shown, from 0
 * @property {boolean} asked whether its question is shown
 */

/** @param {FollowingParts} parts */
export function makeTourFollowing(parts) {
  const { view } = parts;
  /** @type {{parts: FollowingParts, open: Followed | null, guesses: Map<number, string | null>, covered: boolean, wanted: {step: number, asks: boolean} | null, asking: boolean}} guesses: predictions by step, also while the presenter reloads; covered: the sheet may cover the newest end of the logs, which the next drawing moves into view; wanted: the presenter's step, while the tour is requested */
  const held = { parts, open: null, guesses: new Map(), covered: false, wanted: null, asking: false };
  return {
    /** Shows the presenter's step, or none. @param {{step: number, asks: boolean} | null} place */
    follow(place) {
      held.wanted = place;
      if (place === null) close(held);
      else if (held.open) show(held, place);
      else open(held);
    },
    isOpen: () => held.open !== null,
    /** Keeps a prediction. @param {string} typed */
    answer(typed) {
      if (!held.open) return;
      const { guess, problem } = readGuess(held.open.steps[held.open.at].ask.kind, typed);
      view.refuse(problem);
      if (problem || guess === null) return;
      keep(held, guess);
      view.say(`Your prediction: ${guess}.`, "Next");
    },
    /** The run's figure, when more of the run is known. */
    update() {
      if (!held.open) return;
      view.reveal(answerBefore(held));
      if (held.covered) parts.uncover();
      held.covered = false;
    },
    /** Sends the prediction of the present step again, after the connection was lost. */
    resend() {
      const guess = held.open && held.guesses.get(held.open.at);
      if (guess && held.open.asked) parts.send(held.open.at + 1, guess);
    },
    /** @returns {{steps: import("../model/tour.js").TourStep[], at: number} | null} */
    place: () => held.open,
  };
}

async function open(held) {
  if (held.asking) return;
  const { root, bar, view, fetchTour, onRoom } = held.parts;
  held.asking = true;
  const tour = await fetchTour();
  held.asking = false;
  if (!tour || held.wanted === null) return;
  held.open = { steps: tour.steps, at: -1, asked: false };
  view.begin(tour);
  bar.hidden = false;
  bar.classList.add("following");
  root.classList.add("telling", "touring");
  show(held, held.wanted);
  onRoom();
}

function show(held, { step, asks }) {
  const { open, guesses, parts } = held;
  const { view } = parts;
  const at = Math.min(step, open.steps.length) - 1;
  if (at !== open.at) {
    keepTyped(held);
    Object.assign(open, { at, asked: false });
    view.ask(null, null);
    markGuess(held);
    view.show(open.steps, at, answerBefore(held));
    view.say("", "Next");
  }
  const { ask } = open.steps[at];
  if (!ask || !asks || open.asked) return;
  open.asked = true;
  view.ask(ask, guesses.get(at), parts.predictions());
  parts.onRoom(); // the question takes room from the picture
  held.covered = true;
}

/** The answer to the question of the step before, judged as on the presenter's page. */
function answerBefore({ open, guesses, parts }) {
  return open.at > 0 ? judged(open.steps[open.at - 1].ask, guesses.get(open.at - 1), parts.predictions()) : "";
}

/** Marks a predicted position in the picture while the next step shows the run's. */
function markGuess({ open, guesses, parts }) {
  const before = open.at > 0 ? open.steps[open.at - 1].ask : null;
  const guess = guesses.get(open.at - 1);
  parts.predictions()?.show(before?.kind === "position" && guess ? { cluster: before.cluster, position: guess } : null);
}

function keep(held, guess) {
  held.guesses.set(held.open.at, guess);
  held.parts.send(held.open.at + 1, guess);
}

/** The presenter goes on: what the learner has typed so far is the prediction. */
function keepTyped(held) {
  const { open, guesses, parts } = held;
  if (!open.asked || guesses.get(open.at)) return;
  const { guess, problem } = readGuess(open.steps[open.at].ask.kind, parts.view.typed());
  if (!problem && guess !== null) keep(held, guess);
}

function close(held) {
  if (!held.open) return;
  const { root, bar, onRoom } = held.parts;
  held.parts.view.ask(null, null);
  held.parts.predictions()?.show(null);
  held.open = null;
  bar.hidden = true;
  bar.classList.remove("following");
  root.classList.remove("telling", "touring");
  onRoom();
}

/**
 * @param {Document} document
 * @param {HTMLElement} bar
 * @param {{step: (at: number) => void, answer: (typed: string) => void, next: () => void, previous: () => void,
 *   explain: (shown: import("./lab_view.js").Explained | null) => void, onRoom: () => void}} on explain: how the picture explains the step; onRoom: other parts of the page are shown
 */
export function makeTourBar(document, bar, on) {
  const parts = makePartsShown(bar, on.onRoom);
  const end = makeEnd(bar);
  const [name, count, title, text, revealed, status, pips] = ["name", "count", "title", "text", "revealed", "status", "pips"].map((part) => required(bar, `[data-part=tour-${part}]`));
  const next = required(bar, "button[data-act=tour-next]");
  const previous = required(bar, "button[data-act=tour-previous]");

  return {
    ...makeQuestionOf(bar, on),
    begin(tour) {
      end.begin(tour);
      parts.begin();
      setText(name, tour.title);
      pips.replaceChildren(...tour.steps.map((step, at) => pipOf(document, step, at, on.step)));
    },
    /**
     * @param {import("../model/tour.js").TourStep[]} steps
     * @param {number} at
     * @param {string} answer the revealed answer to the question of the step before, or ""
     */
    show(steps, at, answer) {
      setText(count, `${at + 1} of ${steps.length}`);
      setText(title, steps[at].title);
      setText(revealed, answer);
      revealed.hidden = !answer;
      const { note, at_us } = steps[at];
      text.replaceChildren(...linkedText(document, steps[at]));
      parts.show(steps, at);
      on.explain({ note: note && { ...note, at_us }, ...parts.picture() });
      end.show(at === steps.length - 1);
      previous.disabled = at === 0;
      [...pips.children].forEach((pip, number) => markPip(pip, number, at));
    },
    /** @param {string} answer the answer to the question of the step before, when more of the run is known */
    reveal: (answer) => setText(revealed, answer),
    /** What the lab does for the tour now, and the words of the button that goes on. */
    say(words, button) {
      setText(status, words);
      setText(next, button);
    },
    focus: () => next.focus({ preventScroll: true }),
    /** Whether the whole page is shown at every step. */
    isWhole: parts.isWhole,
    /** @param {boolean} whole shows the whole page at every step, or only the parts of the step */
    setWhole(whole) {
      if (whole === parts.isWhole()) return;
      parts.setWhole(whole);
      on.explain(parts.picture());
    },
    /** The whole page is shown again, and nothing is explained in the picture. */
    end() {
      parts.end();
      on.explain(null);
    },
  };
}

/** The text of a step, whose terms are links to the glossary. */
const linkedText = (document, { text, terms }) => cutAtTerms(text, terms).map((part) => (typeof part === "string" ? part : termLink(document, part.text, part.label)));

/** The mark of a step, which leads to it. */
function pipOf(document, { title }, at, onStep) {
  return element(document, "li", {}, [element(document, "button", { type: "button", "aria-label": `Step ${at + 1}: ${title}`, title, onclick: () => onStep(at) })]);
}

function markPip(pip, number, at) {
  pip.classList.toggle("past", number < at);
  const button = required(pip, "button");
  if (number === at) button.setAttribute("aria-current", "step");
  else button.removeAttribute("aria-current");
}

/** The buttons of the last step: they lead to the next tour or to all tours, and end this one. */
function makeEnd(bar) {
  const [onward, leave, next] = ["tour-onward", "tour-leave", "tour-next"].map((act) => required(bar, `button[data-act=${act}]`));
  const others = required(bar, "a[data-part=tour-others]");
  let following = null; // the tour that follows this one

  return {
    begin(tour) {
      following = tour.next ?? null;
      if (following) setText(onward, `Next tour: ${following.title}`);
    },
    /** @param {boolean} last whether the last step is shown */
    show(last) {
      leave.hidden = last;
      onward.hidden = !last || following === null;
      others.hidden = !last || following !== null;
      next.classList.toggle("action", onward.hidden);
    },
  };
}

/** The parts of the page that a tour shows: named in an attribute of the page, which the stylesheet reads. */
function makePartsShown(bar, onRoom) {
  const root = bar.closest(".lab");
  const button = required(bar, "button[data-act=tour-whole]");
  /** @type {string[] | null} */
  let shown = null;
  let whole = false;

  function write() {
    const wanted = shown === null || whole ? undefined : shown.join(" ");
    button.hidden = shown === null || PAGE_PARTS.every((part) => shown.includes(part));
    button.setAttribute("aria-pressed", String(whole));
    if (root.dataset.shows === wanted) return;
    if (wanted === undefined) delete root.dataset.shows;
    else root.dataset.shows = wanted;
    onRoom();
  }

  return {
    isWhole: () => whole,
    /** How the picture is shown beside these parts. */
    picture: () => ({ large: shown !== null && !whole && shown.length * 2 < PAGE_PARTS.length, forecast: shown === null || whole || shown.includes("forecast") }),
    begin() {
      whole = false;
    },
    show(steps, at) {
      shown = partsShown(steps, at);
      write();
    },
    setWhole(next) {
      whole = next;
      write();
    },
    end() {
      shown = null;
      write();
    },
  };
}

/** The form in which the learner predicts a figure. */
function makeQuestionOf(bar, on) {
  const form = required(bar, "form[data-part=tour-ask]");
  const [question, unit, problem] = ["question", "unit", "problem"].map((part) => required(form, `[data-part=tour-${part}]`));
  const field = required(form, "input[name=guess]");
  const focus = () => {
    if (!bar.ownerDocument.defaultView.matchMedia("(pointer: coarse)").matches) field.focus({ preventScroll: true }); // on a phone the keyboard would cover the picture
  };
  const position = makePositionField(form, field, focus);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    on.answer(field.value);
  });
  // the shortcuts of the page do not work while the learner types; a presenter remote should
  field.addEventListener("keydown", (event) => {
    const act = { PageDown: on.next, PageUp: on.previous }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  function refuse(words) {
    setText(problem, words);
    problem.hidden = !words;
    if (!words) return field.removeAttribute("aria-invalid");
    field.setAttribute("aria-invalid", "true");
    return field.select();
  }

  return {
    /**
     * Shows the question of a step, or none.
     * @param {import("../model/tour.js").TourStep["ask"]} asked
     * @param {string | null | undefined} guess
     * @param {import("./lab_view.js").Predictions | null} [predictions] of the picture, in which a position is chosen
     */
    ask(asked, guess, predictions = null) {
      form.hidden = asked === null;
      position.end();
      if (asked === null) return;
      setText(question, asked.question);
      setText(unit, asked.unit);
      field.value = guess ?? "";
      field.inputMode = asked.kind === "number" ? "numeric" : "text";
      field.placeholder = asked.kind === "number" ? "" : "ledger:entry";
      refuse("");
      if (asked.kind === "position" && predictions) position.begin(asked.cluster, predictions);
      focus();
    },
    /** Says what is wrong with the entry; "" for nothing. */
    refuse,
    typed: () => field.value,
  };
}

/** The field in which a position is predicted: a click in the lane or the arrow keys choose one, or it is typed. */

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity };

/**
 * @param {HTMLElement} form
 * @param {HTMLInputElement} field
 * @param {() => void} focus puts the focus into the field, where that does not open a keyboard over the picture
 */
export function makePositionField(form, field, focus) {
  const [box, hint, chosen] = ["position", "hint", "chosen"].map((part) => required(form, `[data-part=tour-${part}]`));
  const coarse = form.ownerDocument.defaultView.matchMedia("(pointer: coarse)");
  /** @type {{cluster: string, predictions: import("./lab_view.js").Predictions} | null} */
  let held = null;

  function show() {
    if (!held) return;
    const words = held.predictions.words(held.cluster, field.value.trim());
    setText(chosen, words && `${field.value.trim()}, ${words}`);
    held.predictions.show(words ? { cluster: held.cluster, position: field.value.trim() } : null);
  }

  function choose(position) {
    field.value = position;
    show();
    focus();
  }

  const move = (by) => held && choose(held.predictions.beside(held.cluster, field.value.trim(), by));

  for (const [name, by] of /** @type {[string, number][]} */ ([["earlier", -1], ["later", 1]])) required(form, `button[data-act=position-${name}]`).addEventListener("click", () => move(by));
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    const by = STEPS[event.key];
    if (!held || by === undefined || event.shiftKey || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(by);
  });

  return {
    /** @param {string} cluster @param {import("./lab_view.js").Predictions} predictions */
    begin(cluster, predictions) {
      held = { cluster, predictions };
      setText(hint, coarse.matches ? `Tap a message in the log of ${cluster}.` : `Click a message in the log of ${cluster}, or choose with ← and →. Enter answers.`);
      box.hidden = false;
      predictions.ask({ cluster, choose });
      show();
    },
    end() {
      held?.predictions.ask(null);
      held = null;
      box.hidden = true;
      setText(chosen, "");
    },
  };
}

/**
 * Plays a guided tour in the footer: each step plays the lab to its instant, slowly before its event, and then highlights the event.
 * A command by hand begins another branch during a tour, so the run of the tour is kept and can be returned to.
 */

/** How often a server that is busy with other runs is asked again, and its status then. */
const TRIES = 20;
const BUSY = 503;

/**
 * @typedef {object} TourParts parts of the page (see lab_page.js), and
 * @property {Document} document
 * @property {HTMLElement} root
 * @property {import("../render/dom.js").PageWindow} window
 * @property {ReturnType<import("../transport/lab_link.js").makeLabLink>} link
 * @property {ReturnType<import("../wire/http.js").makeRequests>} requests
 * @property {string} base path of the lab, ending in "/"
 * @property {() => import("../model/state.js").LabState} getState
 * @property {(notice: object) => void} say
 * @property {() => void} wake requests one more drawing
 * @property {(message: object) => boolean} send sends a message to the server
 * @property {(shown: {row: any, message: {producer: string, number: number} | null} | null) => void} light highlights a row or a message; null clears the highlight
 * @property {(panel: string) => void} showPanel
 * @property {() => import("./lab_view.js").Predictions | null} predictions of the protocol's picture, null without positions
 * @property {() => boolean} calm whether the viewer wants little motion: then the lab jumps instead of playing
 * @property {() => void} onRoom called when the bar or parts of the page appeared or disappeared, because heights have changed
 * @property {(shown: import("./lab_view.js").Explained | null) => void} explain how the picture explains the step
 * @property {Storage | null} storage of the browser, in which finished tours are noted
 */
/**
 * @typedef {object} Open the open tour
 * @property {{title: string, branch: number, steps: import("../model/tour.js").TourStep[], next: {scenario: string, title: string} | null}} tour
 * @property {number} at its present step, from 0
 * @property {{until_us: number, speed: number}[]} playing what is still to be played to the step
 * @property {boolean} began whether the lab has been seen playing the first of them
 * @property {boolean} reached whether the lab has been at the step
 * @property {Map<number, string | null>} guesses the learner's predictions by step, null for a question that was skipped
 * @property {number | null} reveals the step whose predictions of a class are shown, from 1
 * @property {number} speed of the lab before the tour
 */

/** @param {TourParts} parts */
export function makeTourPlayer(parts) {
  const { document, root, window, getState } = parts;
  const bar = required(root, "[data-part=tour-bar]");
  const starts = allOf(root, "button[data-act=tour-start]");
  const acts = { next: () => during(() => goOn(held)), previous: () => during(() => goTo(held, held.open.at - 1)) };
  const view = makeTourBar(document, bar, { step: (at) => goTo(held, at), answer: (typed) => (held.open ? answer(held, typed) : following.answer(typed)), ...acts, explain: parts.explain, onRoom: parts.onRoom });
  const following = makeTourFollowing({ root, bar, view, fetchTour: () => fetchTour(parts), onRoom: parts.onRoom, predictions: parts.predictions, send: (step, guess) => in_class.send(step, guess), uncover: () => uncover(parts) });
  /** @type {{parts: TourParts, view: typeof view, bar: HTMLElement, open: Open | null, asking: boolean}} */
  const held = { parts, view, bar, open: null, asking: false };
  const in_class = makeInClass(held, following);
  let looked = false; // whether the address has been read
  for (const button of starts) button.addEventListener("click", () => start(held, 0));
  window.addEventListener("hashchange", openFromAddress);
  for (const [act, run] of Object.entries({ ...acts, leave: () => leave(held), onward: () => goOnward(held), whole: () => view.setWhole(!view.isWhole()) })) required(bar, `[data-act=tour-${act}]`).addEventListener("click", run);

  /** @returns {boolean} whether a tour is open */
  function during(act) {
    if (held.open) act();
    return held.open !== null;
  }

  function openFromAddress() {
    looked = true;
    const number = tourPlaceOf(window.location.hash);
    if (number === null || !getState().welcome?.tour) return;
    if (held.open) goTo(held, Math.min(number, held.open.tour.steps.length) - 1);
    else start(held, number - 1);
  }

  return {
    acts,
    isOpen: () => held.open !== null,
    /** The step for the pages that follow this one. @returns {import("./presenting.js").Shown["tour"]} */
    shown: () => held.open && { step: held.open.at + 1, asks: asksNow(held), reveals: held.open.reveals, whole: view.isWhole() },
    /** Shows the parts of the page that the step does not show, before one of them is used by a key. */
    showWhole() {
      if (held.open) view.setWhole(true);
    },
    /** Shows the presenter's step, or none. @param {import("./presenting.js").Shown["tour"]} place */
    follow(place) {
      if (held.open) return;
      following.follow(place);
      if (place === null) view.end();
      else view.setWhole(place.whole === true);
    },
    onClass: in_class.take,
    resend: following.resend,
    update() {
      const { welcome } = getState();
      for (const button of starts) {
        button.hidden = !welcome?.tour || held.open !== null || following.isOpen();
        if (welcome?.tour) nameStart(button, welcome.tour);
      }
      if (!looked && welcome?.tour) openFromAddress();
      if (held.open) follow(held);
      following.update();
      in_class.draw();
    },
  };
}

/**
 * The tour of a class: sends a follower's predictions, and shows those of all on the presenter's page and on those that follow.
 * @param {any} held
 * @param {ReturnType<typeof makeTourFollowing>} following
 */
function makeInClass(held, following) {
  const { bar, parts } = held;
  const names = makePageName(parts.window, `failover-lab.predicts.${parts.root.dataset.labId}`);
  const of_class = makeTourClass(parts.document, bar, { reveal, onRoom: parts.onRoom });
  let follows = false; // whether this page is a follower's, whose predictions are counted

  function reveal(step) {
    if (held.open) held.open.reveals = step;
    parts.wake();
  }

  return {
    /** @param {number} step from 1 @param {string} guess */
    send(step, guess) {
      if (!follows) return;
      if (names.own() === null) names.keep();
      parts.send({ type: "predict", by: names.own(), step, guess });
    },
    /** Takes what the class predicts. @param {import("./presenting.js").Presentation} presentation @param {string} role of this page */
    take(presentation, role) {
      follows = role === "follower";
      of_class.take(presentation, role);
    },
    draw() {
      const place = held.open ? { steps: held.open.tour.steps, at: held.open.at } : following.place();
      if (place) of_class.draw({ ...place, judge: parts.predictions() });
      else of_class.close();
    },
  };
}

/** The text of a button that starts the tour; a short one has the rest as its label. */
function nameStart(button, { title, minutes }) {
  const words = `Start tour: ${title}, ${minutes} min`;
  setText(button, button.dataset.short ?? words);
  if (button.dataset.short) button.setAttribute("aria-label", words);
}

const stepOf = ({ open }) => open.tour.steps[open.at];
const isLast = ({ open }) => open.at === open.tour.steps.length - 1;
const isAway = ({ open, parts }) => parts.getState().view.branch !== open.tour.branch;
const asksNow = (held) => stepOf(held).ask !== null && held.open.reached && !held.open.guesses.has(held.open.at);
const progressNow = ({ open, parts }) => progressOf(parts.getState(), open.playing[0] ?? null, open.began);

/** @param {number} at step to begin with, from 0 */
async function start(held, at) {
  const { parts, view, bar } = held;
  if (held.open || held.asking) return;
  const { getState, say, link, root, window } = parts;
  if (!getState().welcome?.owner) {
    say({ error: "You are viewing. Only the owner can play the tour of this lab.", hint: "Take a copy to play it in a lab of your own.", tone: "plain" });
    return;
  }
  held.asking = true;
  const tour = await fetchTour(parts);
  held.asking = false;
  if (!tour) return;
  if (tour.branch === null) {
    say({ error: "A command was given in this lab, so it no longer runs as its tour says.", hint: "Open the scenario again to take its tour.", tone: "plain" });
    return;
  }
  held.open = { tour, at: Math.min(at, tour.steps.length - 1), playing: [], began: false, reached: false, guesses: new Map(), reveals: null, speed: getState().speed };
  link.keeps_run = true;
  view.begin(tour);
  bar.hidden = false;
  root.classList.add("telling", "touring");
  parts.onRoom();
  window.scrollTo({ top: 0, behavior: "instant" });
  const away = isAway(held);
  if (away) link.branch(tour.branch);
  showStep(held, away || at > 0);
  view.focus();
}

/** Requests the tour until its run has ended; null after a failure, which is reported. @param {TourParts} parts */
async function fetchTour({ requests, base, window, say }) {
  let tries = TRIES;
  async function ask() {
    try {
      return await requests.get(`${base}tour.json`);
    } catch (reason) {
      tries -= 1;
      if (reason.status !== BUSY || tries === 0) throw reason;
      return { state: "running" };
    }
  }
  try {
    return await untilDone(ask, window);
  } catch (reason) {
    say({ error: reason.message, hint: reason.hint || "The lab itself is not affected." });
    return null;
  }
}

/** Shows the step: the lab jumps to it, or plays there if it is later. */
function showStep(held, jump) {
  const { parts, view, open } = held;
  const { window } = parts;
  const step = stepOf(held);
  open.reached = false;
  view.ask(null, null);
  view.show(open.tour.steps, open.at, ownAnswerBefore(held));
  window.history.replaceState(null, "", window.location.pathname + window.location.search + tourFragment(open.at + 1));
  if (step.panel) parts.showPanel(step.panel);
  parts.light(null);
  const playing = jump || parts.calm() ? [] : partsOf(parts.getState().at_us, step);
  if (playing.length) play(held, playing);
  else seek(held);
  view.say(...placeWordsOf(held, progressNow(held)));
  parts.wake();
}

/** The answer to the question of the step before, or ""; a predicted position is marked in the picture. */
function ownAnswerBefore({ open, parts }) {
  const before = open.at > 0 ? open.tour.steps[open.at - 1].ask : null;
  const guess = open.guesses.get(open.at - 1);
  const predictions = parts.predictions();
  predictions?.show(before?.kind === "position" && guess ? { cluster: before.cluster, position: guess } : null);
  return judged(before, guess, predictions);
}

function play({ open, parts }, playing) {
  Object.assign(open, { playing, began: false });
  parts.link.play(playing[0].speed, playing[0].until_us);
}

/** Goes to the step at once, also from later instants. */
function seek(held) {
  const { open, parts } = held;
  const { at_us } = stepOf(held);
  if (parts.getState().playing) parts.link.pause();
  parts.link.seek(at_us);
  Object.assign(open, { playing: [{ until_us: at_us, exact: true }], began: false });
}

function goTo(held, at) {
  const { open, parts } = held;
  if (!open || at < 0) return;
  const away = isAway(held);
  if (away) parts.link.branch(open.tour.branch);
  const jump = away || at <= open.at || !open.reached;
  open.at = at;
  showStep(held, jump);
}

/** Forward: ends the playback under way, or takes the answer to the question, or goes to the next step. */
function goOn(held) {
  const { open, parts, view } = held;
  if (isAway(held)) goTo(held, open.at);
  else if (progressNow(held) === "paused") play(held, partsOf(parts.getState().at_us, stepOf(held)));
  else if (!open.reached) seek(held);
  else if (asksNow(held)) answer(held, view.typed());
  else if (isLast(held)) leave(held);
  else goTo(held, open.at + 1);
}

function answer(held, typed) {
  const { guess, problem } = readGuess(stepOf(held).ask.kind, typed);
  if (problem) {
    held.view.refuse(problem);
    return;
  }
  held.parts.window.scrollTo({ top: 0, behavior: "instant" });
  held.open.guesses.set(held.open.at, guess);
  held.view.focus();
  goTo(held, held.open.at + 1);
}

/** Ends the tour; the lab stays at its instant. */
function leave(held) {
  const { open, parts, bar } = held;
  if (!open) return;
  const { getState, link, root, window } = parts;
  held.view.ask(null, null);
  parts.predictions()?.show(null);
  if (getState().playing) link.pause();
  link.keeps_run = false;
  if (open.speed !== getState().speed) link.speed(open.speed);
  held.open = null;
  held.view.end();
  bar.hidden = true;
  root.classList.remove("telling", "touring");
  window.history.replaceState(null, "", window.location.pathname + window.location.search);
  parts.light(null);
  parts.onRoom();
}

/** Opens a lab of the tour that follows, at its first step. */
async function goOnward({ open, parts }) {
  const { root, requests, window, say } = parts;
  try {
    const made = await requests.post(root.dataset.create, { scenario: open.tour.next.scenario });
    keepToken(made.id, made.token, window);
    window.location.assign(`${made.url}#token=${made.token}&${tourFragment(1).slice(1)}`);
  } catch (reason) {
    say({ error: reason.message, hint: reason.hint });
  }
}

/** Follows the lab: begins the next part of the playback, or highlights what the step is about once it is reached. */
function follow(held) {
  const { open, view } = held;
  const progress = progressNow(held);
  if (progress === "playing") open.began = true;
  if (progress === "reached") {
    open.playing.shift();
    if (open.playing.length) play(held, open.playing);
    else reach(held);
  }
  view.say(...placeWordsOf(held, progress));
}

function reach(held) {
  const { open, parts, view } = held;
  const { seq, row, message, ask } = stepOf(held);
  open.reached = true;
  if (message) parts.light({ row: row ?? { seq: null }, message: { producer: message[0], number: message[1] } });
  else if (seq !== null) parts.light({ row, message: null });
  if (isLast(held) && parts.storage) noteToured(parts.storage, parts.getState().welcome.scenario);
  view.reveal(ownAnswerBefore(held));
  view.ask(ask, open.guesses.get(open.at), parts.predictions());
  if (ask) parts.onRoom(); // the question takes room from the picture
  if (ask?.kind === "position") uncover(parts);
}

/** Scrolls the newest end of the logs out from under the bar, which covers it on a phone. */
function uncover({ root, window }) {
  const { matches } = window.matchMedia("(max-width: 800px)"); // on a wide page logs run to the right
  if (!matches) return;
  const covered = required(root, ".stage").getBoundingClientRect().bottom - required(root, ".transport").getBoundingClientRect().top;
  if (covered > 0) window.scrollBy({ top: covered, behavior: "instant" });
}

/** @returns {[string, string]} the line about the lab, and the button that goes on */
function placeWordsOf(held, progress) {
  if (isAway(held)) return ["A command was given: this is another run. The tour's run is kept.", "Return to the tour"];
  if (progress === "paused") return ["Paused on the way to this step.", "Play on"];
  if (!held.open.reached) return ["Playing to this step…", "Skip"];
  if (asksNow(held)) return ["", "Continue"];
  return ["", isLast(held) ? "End the tour" : "Next"];
}
