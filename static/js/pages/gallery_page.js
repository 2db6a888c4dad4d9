/**
 * The gallery: by family, searchable, a picture per scenario drawn from the cells and cursors that the server ran, one click to a
 * lab of one's own. How a scenario came out is told when it was played. Without this script the cards are plain forms.
 */

import { makeRequests } from "../wire/http.js";
import { keepToken, ownLabs } from "../wire/token.js";
import { familyName, matches } from "../model/scenario_search.js";
import { factParts } from "../model/scenario_facts.js";
import { noteSaid, saidOf, wasPlayed } from "../model/played.js";
import { seconds } from "../model/format.js";
import { guessField } from "../render/guess.js";
import { paintPicture } from "../render/picture.js";
import { readTheme } from "../render/theme.js";
import { element, putParts, required, setText } from "../render/dom.js";
import { listenInGallery } from "./gallery_keys.js";

/** The scenario whose picture opens the page, when it is there. */
const HERO = "region-down";

/** Scenarios that the server is asked to run for their pictures in one request. */
const PICTURES_AT_ONCE = 4;

/** Labs that are looked through for the one to go on with: as many as the server takes. */
const LOOKED_AT = 1000;

export function openGallery({ document, root, window, fetcher }) {
  const scenarios = JSON.parse(required(document, "#scenario-data").textContent);
  const requests = makeRequests(fetcher, "");
  const cards = new Map([...root.querySelectorAll(".card")].map((card) => [card.dataset.scenario, card]));
  const search = required(root, "[data-part=search]");
  const families = required(root, "[data-part=families]");
  let family = null;
  let outcomes = {};

  writeFamilies();
  writeFacts();
  askForOutcomes();
  offerToContinue();
  paint();
  askForPictures();
  filter();
  search.addEventListener("input", filter);
  required(root, "[data-act=show-all]").addEventListener("click", showAll);
  root.addEventListener("submit", open);
  new window.ResizeObserver(() => paint()).observe(root);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint());
  listenInGallery(document, search, () => [...cards.values()].filter((card) => card.offsetParent).map((card) => required(card, ".open")), showAll);

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
    filter();
  }

  function showAll() {
    search.value = "";
    chooseFamily(null);
    search.focus();
  }

  function filter() {
    let shown = 0;
    for (const scenario of scenarios) {
      const hit = (family === null || scenario.family === family) && matches(scenario, search.value);
      cards.get(scenario.name).hidden = !hit;
      shown += hit ? 1 : 0;
    }
    for (const section of root.querySelectorAll(".family")) section.hidden = [...section.querySelectorAll(".card")].every((card) => card.hidden);
    required(root, "[data-part=none]").hidden = shown > 0;
    setText(required(root, "[data-part=found]"), shown < scenarios.length ? `${shown} of ${scenarios.length}` : "");
  }

  function writeFacts() {
    for (const scenario of scenarios) {
      const line = required(root, `[data-facts="${scenario.name}"]`);
      const known = { played: wasPlayed(window.localStorage, scenario.name), outcome: outcomes[scenario.name], said: saidOf(window.localStorage, scenario.name) };
      putParts(document, line, factParts(scenario, known));
      if (!known.played && scenario.fails_over) line.append(" · ", guessField(document, scenario.title, known.said, (typed) => noteSaid(window.localStorage, scenario.name, typed), () => said(scenario.name)));
    }
  }

  function said(name) {
    writeFacts();
    required(cards.get(name), ".open").focus();
  }

  async function askForOutcomes() {
    const played = scenarios.filter(({ name }) => wasPlayed(window.localStorage, name)).map(({ name }) => name);
    if (!played.length) return;
    try {
      outcomes = await requests.get(`${root.dataset.outcomes}?names=${played.join(",")}`);
    } catch (reason) {
      say(reason);
    }
    writeFacts();
  }

  async function offerToContinue() {
    const labs = ownLabs(window).slice(0, LOOKED_AT);
    if (!labs.length) return;
    const newest = (await requests.post(root.dataset.mine, { labs })).labs[0];
    if (!newest) return;
    const link = required(root, "[data-part=continue]");
    link.href = newest.url;
    setText(link, `Continue “${newest.title}” at ${seconds(newest.at_us)} s`);
    link.hidden = false;
  }

  /** Pictures that nobody has asked this server for before are run now, a few at a time: the page is there first. */
  async function askForPictures() {
    const missing = [...scenarios].filter(({ picture }) => !picture).sort((one, other) => Number(other.name === HERO) - Number(one.name === HERO));
    try {
      for (let at = 0; at < missing.length; at += PICTURES_AT_ONCE) {
        const asked = missing.slice(at, at + PICTURES_AT_ONCE);
        const found = await requests.get(`${root.dataset.pictures}?names=${asked.map(({ name }) => name).join(",")}`);
        for (const scenario of asked) scenario.picture = found[scenario.name];
        paint(asked);
      }
    } catch (reason) {
      say(reason);
    }
  }

  function paint(some = scenarios) {
    const theme = readTheme(window.getComputedStyle(document.documentElement));
    const ratio = window.devicePixelRatio || 1;
    for (const { name, picture } of some) {
      const canvas = required(cards.get(name), "canvas");
      const width = canvas.parentElement.clientWidth; // a canvas keeps the width it was painted with
      if (!picture || !width) continue;
      paintPicture(canvas, picture, theme, { ratio, width, height: 112 });
      canvas.classList.add("painted");
    }
    const hero = required(root, "[data-part=hero]");
    const featured = scenarios.find((one) => one.name === HERO) ?? scenarios[0];
    const width = hero.parentElement.clientWidth;
    if (!some.includes(featured) || !featured.picture || !width) return;
    paintPicture(hero, featured.picture, theme, { ratio, width, height: 190 });
    const words = `${featured.picture.lanes.map((lane) => lane.cluster).join(", ")}, just after the failure. How many come twice?`;
    hero.setAttribute("aria-label", `The logs of ${words}`);
    setText(required(root, "[data-part=hero-words]"), words);
  }

  async function open(event) {
    const { scenario } = event.target.dataset;
    if (!scenario) return;
    event.preventDefault();
    const card = event.target.closest(".card");
    required(root, "[data-part=failure]").hidden = true;
    card?.classList.add("opening-now");
    try {
      const made = await requests.post(root.dataset.create, { scenario });
      keepToken(made.id, made.token, window);
      window.location.assign(`${made.url}#token=${made.token}`);
    } catch (reason) {
      card?.classList.remove("opening-now");
      say(reason);
    }
  }

  function say(reason) {
    const failure = required(root, "[data-part=failure]");
    failure.textContent = `${reason.message} ${reason.hint ?? ""}`;
    failure.hidden = false;
  }
}
