/**
 * The gallery: scenarios by family, searchable, each with a picture and a button that opens it as a new lab.
 * Pictures are drawn from cells and cursors that the server simulated. A scenario's outcome is shown once it was played. Without this
 * script the cards are plain forms.
 */

import { makeRequests } from "../wire/http.js";
import { keepToken, ownLabs } from "../wire/token.js";
import { familyName, matches, whyMatched } from "../model/scenario_search.js";
import { seconds } from "../model/format.js";
import { wasToured } from "../model/played.js";
import { allOf, element, required, setText } from "../render/dom.js";
import { makeFacts, makePictures } from "./gallery_cards.js";
import { listenInGallery } from "./gallery_keys.js";

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
