/**
 * The gallery: family tabs, search, a picture per scenario drawn from the cells and cursors that the server ran, one click to a
 * lab of one's own. Without this script the cards are plain forms and still work.
 */

import { makeRequests } from "../wire/http.js";
import { keepToken } from "../wire/token.js";
import { familyName, matches } from "../model/scenario_search.js";
import { factsOf } from "../model/scenario_facts.js";
import { paintPicture } from "../render/picture.js";
import { readTheme } from "../render/theme.js";
import { element, required, setText } from "../render/dom.js";

/** The scenario whose picture opens the page, when it is there. */
const HERO = "region-down";

export function openGallery({ document, root, window, fetcher }) {
  const scenarios = JSON.parse(required(document, "#scenario-data").textContent);
  const requests = makeRequests(fetcher, root.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "");
  const cards = new Map([...root.querySelectorAll(".card[data-scenario]")].map((card) => [card.dataset.scenario, card]));
  const search = required(root, "[data-part=search]");
  const families = required(root, "[data-part=families]");
  let family = null;

  for (const scenario of scenarios) setText(root.querySelector(`[data-facts="${scenario.name}"]`), factsOf(scenario));
  writeFamilies();
  paint();
  search.addEventListener("input", filter);
  root.addEventListener("submit", open);
  new window.ResizeObserver(paint).observe(root);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);

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

  function filter() {
    let shown = 0;
    for (const scenario of scenarios) {
      const hit = (family === null || scenario.family === family) && matches(scenario, search.value);
      cards.get(scenario.name).hidden = !hit;
      shown += hit ? 1 : 0;
    }
    required(root, "[data-part=none]").hidden = shown > 0;
  }

  function paint() {
    const theme = readTheme(window.getComputedStyle(document.documentElement));
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of root.querySelectorAll("[data-picture]")) {
      const scenario = scenarios.find((one) => one.name === canvas.dataset.picture);
      if (scenario?.picture && canvas.clientWidth) paintPicture(canvas, scenario.picture, theme, { ratio, width: canvas.clientWidth, height: 112 });
    }
    const hero = required(root, "[data-part=hero]");
    const featured = scenarios.find((one) => one.name === HERO) ?? scenarios[0];
    if (featured?.picture && hero.parentElement.clientWidth) paintPicture(hero, featured.picture, theme, { ratio, width: hero.clientWidth, height: 190 });
  }

  async function open(event) {
    event.preventDefault();
    const card = event.target.closest(".card");
    const failure = required(root, "[data-part=failure]");
    failure.hidden = true;
    card.classList.add("opening-now");
    try {
      const made = await requests.post(root.dataset.create, { scenario: card.dataset.scenario });
      keepToken(made.id, made.token, window);
      window.location.assign(`${made.url}#token=${made.token}`);
    } catch (reason) {
      card.classList.remove("opening-now");
      failure.textContent = `${reason.message} ${reason.hint}`;
      failure.hidden = false;
    }
  }
}
