/** What the gallery's cards show beside their text: pictures, and the outcome or the guess of each scenario in this browser. */

import { factParts } from "../model/scenario_facts.js";
import { noteGuess, guessOf, wasPlayed } from "../model/played.js";
import { guessField } from "../render/guess.js";
import { paintPicture } from "../render/picture.js";
import { readTheme } from "../render/theme.js";
import { putParts, required, setText } from "../render/dom.js";

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
 * @param {Map<string, import("./gallery_page.js").Card>} cards by scenario
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
