/** The gallery: search, pictures, and the outcome or the guess of each scenario in this browser. */

import { capitalised, counted, seconds, span } from "../model/format.js";
import { guessOf, noteGuess, outcomeParts, wasPlayed, wasToured } from "../model/played.js";
import { allOf, element, found, putParts, required, setText } from "../render/dom.js";
import { paintPicture } from "../protocols/light_table.js";
import { readTheme } from "../render/theme.js";
import { makeRequests } from "../wire/http.js";
import { keepToken, ownLabs } from "../wire/token.js";

/** Finds the nearest box in a direction, for arrow keys in a grid with a variable number of columns. */

const AHEAD = {
  ArrowRight: (from, to) => to.left >= from.right - 1 && overlaps(from.top, from.bottom, to.top, to.bottom),
  ArrowLeft: (from, to) => to.right <= from.left + 1 && overlaps(from.top, from.bottom, to.top, to.bottom),
  ArrowDown: (from, to) => to.top >= from.bottom - 1,
  ArrowUp: (from, to) => to.bottom <= from.top + 1,
};

const overlaps = (low, high, other_low, other_high) => low < other_high && other_low < high;
const middle = (box) => (box.left + box.right) / 2;

/**
 * @param {{left: number, right: number, top: number, bottom: number}[]} boxes
 * @param {number} at index of the box to start from
 * @param {string} key
 * @returns {number} index of the nearest box in that direction, -1 when there is none
 */
export function neighbour(boxes, at, key) {
  const ahead = AHEAD[key];
  if (!ahead) return -1;
  const from = boxes[at];
  const across = key === "ArrowUp" || key === "ArrowDown";
  let best = -1;
  let nearest = Infinity;
  boxes.forEach((box, index) => {
    if (index === at || !ahead(from, box)) return;
    // boxes of a row have the same top and different heights: choose the next row first, then the nearest column in it
    const aside = Math.abs(middle(box) - middle(from));
    const distance = across ? Math.abs(box.top - from.top) * 1000 + aside : aside;
    if (distance < nearest) [best, nearest] = [index, distance];
  });
  return best;
}

/** The facts on a scenario's card: duration, number of regions, and the outcome or the visitor's guess. */

/**
 * @param {object} scenario
 * @param {{played: boolean, outcome: object | undefined, guess: number | null}} known
 * @returns {(string | {harm: string} | {strong: string})[]} "20 s · 3 regions · 31 duplicates, your guess 12"
 */
export function factParts(scenario, { played, outcome, guess }) {
  const regions = scenario.picture?.lanes?.length;
  const begin = [span(scenario.until_us), regions ? counted(regions, "region") : null].filter(Boolean).join(" · ");
  if (played) return [`${begin} · `, ...(outcome ? outcomeParts(outcome, guess) : ["played"])];
  return [`${begin} · ${guess === null ? "not played" : `your guess ${guess}, not played`}`];
}

/** Searches scenarios: every typed word must occur in the name, title, family or texts. A match outside the title is explained. */

const TEXTS = ["name", "title", "family", "watch", "about"];

/** What a field is called where a match is explained. */
const FIELD_WORDS = { name: "name", family: "family", watch: "what to watch", about: "description" };
/** Characters shown on each side of a match. */
const AROUND = 32;

const wordsOf = (typed) => typed.toLowerCase().split(/\s+/).filter(Boolean);
const textOf = (scenario, field) => (scenario[field] ?? "").replace(/\s+/g, " ");

/** @returns {boolean} */
export function matches(scenario, typed) {
  const text = TEXTS.map((field) => scenario[field] ?? "").join(" ").toLowerCase();
  return wordsOf(typed).every((word) => text.includes(word));
}

/**
 * Why a scenario matches: the place of the first word that its title does not contain.
 * @returns {string} "description: …takes two rounds, so a snapshot…"; empty when the title has every word
 */
export function whyMatched(scenario, typed) {
  const title = textOf(scenario, "title").toLowerCase();
  const word = wordsOf(typed).find((one) => !title.includes(one));
  if (word === undefined) return "";
  const field = Object.keys(FIELD_WORDS).find((one) => textOf(scenario, one).toLowerCase().includes(word));
  return field === undefined ? "" : `${FIELD_WORDS[field]}: ${excerpt(textOf(scenario, field), word)}`;
}

/** The text around a word, cut at spaces. */
function excerpt(text, word) {
  const at = text.toLowerCase().indexOf(word);
  const from = at <= AROUND ? 0 : text.indexOf(" ", at - AROUND) + 1;
  const cut = text.lastIndexOf(" ", at + word.length + AROUND);
  const to = text.length <= at + word.length + AROUND ? text.length : Math.max(cut, at + word.length);
  return `${from > 0 ? "…" : ""}${text.slice(from, to)}${to < text.length ? "…" : ""}`;
}

/** @returns {string} "Replicated subscriptions" */
export const familyName = (name) => capitalised(name.replace(/-/g, " "));

/** The field for a guess of the number of duplicates: a button on a card that becomes a text field. */

/**
 * @param {Document} document
 * @param {string} title of the scenario
 * @param {number | null} guess
 * @param {(typed: string) => boolean} keep stores the guess; false when it is not a number
 * @param {() => void} done
 */
export function guessField(document, title, guess, keep, done) {
  const home = element(document, "span.guess");
  const open = element(document, "button", { type: "button", text: guess === null ? "guess first" : "change", "aria-label": `Guess the number of duplicates: ${title}`, onclick: begin });
  home.append(open);

  function begin() {
    const input = element(document, "input", { inputmode: "numeric", maxlength: 9, value: guess ?? "", "aria-label": `How many duplicates will there be: ${title}`, autocomplete: "off" });
    const form = element(document, "form", {}, [input, " duplicates ", element(document, "button", { type: "submit", text: "Keep" })]);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      event.stopPropagation();
      if (keep(input.value)) done();
      else {
        input.setAttribute("aria-invalid", "true");
        input.select();
      }
    });
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      home.replaceChildren(open);
      open.focus();
    });
    home.replaceChildren(form);
    input.select();
    input.focus();
  }

  return home;
}

/** The scenario of the large picture at the top of the page, if it exists. */
const HERO = "region-down";
/** Sizes px. A card's picture is painted at this size and shown at half of it, as in the stylesheet. */
const [CARD_WIDTH_PX, CARD_HEIGHT_PX, HERO_HEIGHT_PX] = [240, 112, 190];

/** Number of scenarios per request that the server runs for their pictures. */
const PICTURES_AT_ONCE = 4;

/**
 * @param {object} parts of the page:
 * @param {Document} parts.document
 * @param {HTMLElement} parts.root
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {ReturnType<import("../wire/http.js").makeRequests>} parts.requests
 * @param {object[]} scenarios
 * @param {Map<string, Card>} cards by scenario
 * @param {(reason: Error) => void} say
 */
export function makePictures({ document, root, window, requests }, scenarios, cards, say) {
  const hero = required(root, "canvas[data-part=hero]");

  function paint(some = scenarios) {
    const theme = readTheme(window.getComputedStyle(document.documentElement));
    const ratio = window.devicePixelRatio || 1;
    for (const { name, picture } of some) {
      const { card } = cards.get(name);
      const canvas = required(card, `canvas[data-picture="${name}"]`);
      if (!picture) continue;
      paintPicture(canvas, picture, theme, { ratio: Math.max(1, ratio / 2), width: CARD_WIDTH_PX, height: CARD_HEIGHT_PX });
      canvas.style.width = canvas.style.height = ""; // the stylesheet's
      canvas.classList.add("painted");
    }
    const featured = scenarios.find((one) => one.name === HERO) ?? scenarios[0];
    const width = hero.parentElement.clientWidth;
    if (!some.includes(featured) || !featured.picture || !width) return;
    paintPicture(hero, featured.picture, theme, { ratio, width, height: HERO_HEIGHT_PX });
    const words = `${featured.picture.lanes.map((lane) => lane.cluster).join(", ")}, just after the failure. How many duplicates?`;
    hero.setAttribute("aria-label", `The logs of ${words}`);
    setText(required(root, "[data-part=hero-words]"), words);
  }

  /** Requests the pictures that the server has not computed yet, a few at a time, after the page is shown. */
  async function ask() {
    const missing = [...scenarios].filter(({ picture }) => !picture).sort((one, other) => Number(other.name === HERO) - Number(one.name === HERO));
    try {
      for (let at = 0; at < missing.length; at += PICTURES_AT_ONCE) {
        const asked = missing.slice(at, at + PICTURES_AT_ONCE);
        const answer = await requests.get(`${root.dataset.pictures}?names=${asked.map(({ name }) => name).join(",")}`);
        for (const scenario of asked) scenario.picture = answer[scenario.name];
        paint(asked);
      }
    } catch (reason) {
      say(reason);
    }
  }

  return { paint, ask };
}

/** The line of facts on each card. Outcomes are requested once a scenario was played. Parameters as in `makePictures`. */
export function makeFacts({ document, root, window, requests }, scenarios, cards, say) {
  let outcomes = {};

  function write() {
    for (const scenario of scenarios) {
      const line = required(root, `[data-facts="${scenario.name}"]`);
      const known = { played: wasPlayed(window.localStorage, scenario.name), outcome: outcomes[scenario.name], guess: guessOf(window.localStorage, scenario.name) };
      putParts(document, line, factParts(scenario, known));
      if (!known.played && scenario.fails_over) line.append(" · ", guessField(document, scenario.title, known.guess, (typed) => noteGuess(window.localStorage, scenario.name, typed), () => guessed(scenario.name)));
    }
  }

  function guessed(name) {
    write();
    cards.get(name).open.focus();
  }

  async function ask() {
    const played = scenarios.filter(({ name }) => wasPlayed(window.localStorage, name)).map(({ name }) => name);
    if (!played.length) return;
    try {
      outcomes = await requests.get(`${root.dataset.outcomes}?names=${played.join(",")}`);
    } catch (reason) {
      say(reason);
    }
    write();
  }

  return { write, ask };
}

/** The keyboard in the gallery: / focuses the search, Escape clears it, arrows move between cards, Enter opens. */

/**
 * @param {Document} document
 * @param {HTMLInputElement} search
 * @param {() => HTMLElement[]} shown the open buttons of the visible cards, in reading order
 * @param {() => void} showAll
 */
export function listenInGallery(document, search, shown, showAll) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const typing = target.matches("input, textarea, select");
    if (event.key === "/" && !typing) {
      event.preventDefault();
      search.select();
      search.focus();
    } else if (event.key === "Escape" && target === search) {
      showAll();
    } else if (event.key === "ArrowDown" && target === search) {
      event.preventDefault();
      shown()[0]?.focus();
    } else if (target.matches(".card .open")) {
      walk(event, shown());
    }
  });

  function walk(event, buttons) {
    const at = buttons.indexOf(event.target);
    const next = buttons[neighbour(buttons.map((button) => button.closest(".card").getBoundingClientRect()), at, event.key)];
    if (next) {
      event.preventDefault();
      next.focus();
    } else if (event.key === "ArrowUp") {
      event.preventDefault();
      search.focus();
    }
  }
}

/**
 * The gallery: scenarios by family, searchable, each with a picture and a button that opens it as a new lab.
 * Pictures are drawn from cells and cursors that the server simulated. A scenario's outcome is shown once it was played. Without this
 * script the cards are plain forms.
 */

/** Number of labs among which the most recently used one is searched: the server's limit. */
const LOOKED_AT = 1000;

/** @param {{document: Document, root: HTMLElement, window: import("../render/dom.js").PageWindow, fetcher: typeof fetch}} page */
export function openGallery({ document, root, window, fetcher }) {
  const parts = { document, root, window, requests: makeRequests(fetcher, "") };
  const scenarios = JSON.parse(required(document, "#scenario-data").textContent);
  const cards = findCards(root, scenarios);
  const filter = makeFilter(parts, scenarios, cards);
  const facts = makeFacts(parts, scenarios, cards, say);
  const pictures = makePictures(parts, scenarios, cards, say);
  const showNamed = () => showScenario(cards.get(window.location.hash.slice(1)));

  facts.write();
  facts.ask();
  offerToContinue(parts);
  markTours(parts);
  pictures.paint();
  pictures.ask();
  filter.apply();
  showNamed();
  window.addEventListener("hashchange", showNamed);
  root.addEventListener("submit", (event) => openScenario(parts, event, say));
  new window.ResizeObserver(() => pictures.paint()).observe(root);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => pictures.paint());
  listenInGallery(document, filter.search, () => [...cards.values()].map(({ open }) => open).filter((open) => open.offsetParent), filter.showAll);

  function say(reason) {
    const failure = required(root, "[data-part=failure]");
    failure.textContent = `${reason.message} ${reason.hint ?? ""}`;
    failure.hidden = false;
  }
}

/** Filters the cards: one family or all, and only those that match the search. */
function makeFilter({ document, root }, scenarios, cards) {
  const search = required(root, "input[data-part=search]");
  const families = required(root, "[data-part=families]");
  let family = null;
  writeFamilies();
  search.addEventListener("input", apply);
  required(root, "[data-act=show-all]").addEventListener("click", showAll);

  function writeFamilies() {
    const names = [...new Set(scenarios.map((scenario) => scenario.family))];
    const button = (name, words, count) =>
      element(document, "button", { type: "button", "aria-pressed": String(name === family), onclick: () => chooseFamily(name) }, [`${words} `, element(document, "small", { text: String(count) })]);
    families.replaceChildren(
      ...(names.length > 1 ? [button(null, "All", scenarios.length)] : []),
      ...names.map((name) => button(name, familyName(name), scenarios.filter((scenario) => scenario.family === name).length)),
    );
  }

  function chooseFamily(name) {
    family = name;
    writeFamilies();
    apply();
  }

  function showAll() {
    search.value = "";
    chooseFamily(null);
    search.focus();
  }

  function apply() {
    const hits = new Set(scenarios.filter((scenario) => (family === null || scenario.family === family) && matches(scenario, search.value)).map(({ name }) => name));
    for (const { card } of cards.values()) card.hidden = true;
    for (const scenario of scenarios) {
      const { card, about } = cards.get(scenario.name);
      const hit = hits.has(scenario.name);
      if (hit) card.hidden = false;
      writeWhy(about, hit ? [search.value.trim() ? sidesFound(card, hits) : "", whyMatched(scenario, search.value)].filter(Boolean).join(" · ") : "");
    }
    const shown = hits.size;
    const recorded = allOf(root, ".recordings .card");
    for (const card of recorded) card.hidden = family !== null || !card.textContent.toLowerCase().includes(search.value.trim().toLowerCase());
    for (const section of allOf(root, ".family")) section.hidden = allOf(section, ".card").every((card) => card.hidden);
    required(root, "[data-part=none]").hidden = shown > 0 || recorded.some((card) => !card.hidden);
    setText(required(root, "[data-part=found]"), shown < scenarios.length ? `${shown} of ${scenarios.length}` : "");
  }

  /** Says which scenarios of a pair match, and shows one that does; "" for the card of a single one. */
  function sidesFound(card, hits) {
    const pair = [...cards.values()].filter((one) => one.card === card && one.radio);
    const found = pair.filter(({ name }) => hits.has(name));
    if (found.length && !found.some(({ radio }) => radio.checked)) found[0].radio.checked = true;
    return found.length ? `matches: ${found.map(({ side }) => side).join(", ")}` : "";
  }

  return { apply, search, showAll };
}

/**
 * @typedef {object} Card what the page shows of one scenario; the two scenarios of a pair have one `card`
 * @property {string} name
 * @property {HTMLElement} card
 * @property {HTMLElement} about the part with texts and figures
 * @property {HTMLElement} open the button
 * @property {HTMLInputElement | null} radio the switch of a pair that shows this scenario
 * @property {string} side what the switch calls it
 */

/** @returns {Map<string, Card>} by scenario */
function findCards(root, scenarios) {
  const cardOf = ({ name }) => {
    const form = required(root, `.card form[data-scenario="${name}"]`);
    const card = form.closest(".card");
    const radio = /** @type {HTMLInputElement | null} */ (card.querySelector(`input[value="${name}"][type=radio]`));
    return { name, card, about: required(card, `div[data-scenario="${name}"]`), open: required(form, ".open"), radio, side: radio?.parentElement.textContent.trim() ?? "" };
  };
  return new Map(scenarios.map((scenario) => [scenario.name, cardOf(scenario)]));
}

/** Shows the scenario that the page's address names, also on the card of a pair. @param {Card | undefined} shown */
function showScenario(shown) {
  if (!shown) return;
  if (shown.radio) shown.radio.checked = true;
  shown.card.scrollIntoView({ block: "center", behavior: "instant" });
  shown.open.focus({ preventScroll: true });
}

/** Says on a card why it matches the search. */
function writeWhy(about, words) {
  const line = required(about, "[data-part=why]");
  line.hidden = words === "";
  setText(line, words);
}

/** Marks the tours that were played in this browser, and leads to the first of the others. */
function markTours({ root, window }) {
  const tours = allOf(root, ".start-here li").map((item) => ({ item, form: required(item, "form"), title: required(item, ".title").textContent }));
  const done = tours.filter(({ form }) => wasToured(window.localStorage, form.dataset.scenario));
  const next = tours.find((tour) => !done.includes(tour));
  for (const { item } of done) {
    item.classList.add("done");
    setText(required(item, ".number"), "✓");
    setText(required(item, "[data-part=tour-state]"), ", done");
  }
  if (done.length === 0) return;
  setText(required(root, "[data-part=toured]"), `${done.length} of ${tours.length} done in this browser.`);
  if (!next) return;
  next.item.classList.add("next");
  const form = required(root, "form[data-part=first-tour]");
  form.dataset.scenario = required(form, "input[name=scenario]").value = next.form.dataset.scenario;
  setText(required(form, "button"), `Continue with tour ${tours.indexOf(next) + 1}: ${next.title}`);
}

/** Shows a link to the most recently used lab of this browser, if there is one. */
async function offerToContinue({ root, window, requests }) {
  const labs = ownLabs(window).slice(0, LOOKED_AT);
  if (!labs.length) return;
  const newest = (await requests.post(root.dataset.myLabs, { labs })).labs[0];
  if (!newest) return;
  const link = required(root, "a[data-part=continue]");
  link.href = newest.url;
  setText(link, `Continue “${newest.title}” at ${seconds(newest.at_us)} s`);
  link.hidden = false;
}

/** Creates a lab from the scenario of a submitted card and opens it. */
async function openScenario({ root, window, requests }, event, say) {
  const { scenario, tour } = event.target.dataset;
  if (!scenario) return;
  event.preventDefault();
  const card = event.target.closest(".card");
  required(root, "[data-part=failure]").hidden = true;
  card?.classList.add("opening-now");
  try {
    const made = await requests.post(root.dataset.create, { scenario });
    keepToken(made.id, made.token, window);
    window.location.assign(`${made.url}#token=${made.token}${tour ? "&tour=1" : ""}`);
  } catch (reason) {
    card?.classList.remove("opening-now");
    say(reason);
  }
}

const root = globalThis.document && found(document, "[data-gallery]"); // Node\'s tests have no document
if (root) openGallery({ document, root, window, fetcher: (address, options) => fetch(address, options) });
