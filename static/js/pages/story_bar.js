/** The bar of a message's story in the footer: its sentence, its instant, and one button for each step. */

import { seconds } from "../model/format.js";
import { element, required, setText } from "../render/dom.js";

const NOUNS = { duplicates: "duplicate", redeliveries: "redelivered", stranded: "not replicated", lost: "lost" };

/**
 * @param {Document} document
 * @param {HTMLElement} bar
 * @param {(at: number) => void} onStep called when a step was chosen
 */
export function makeStoryBar(document, bar, onStep) {
  const [name, count, time, words, pips] = ["name", "count", "time", "words", "pips"].map((part) => required(bar, `[data-part=story-${part}]`));
  const play_button = required(bar, "button[data-act=story-play]");

  return {
    /** Makes a button for each step of a story. */
    begin(story) {
      const buttonOf = (step, at) => element(document, "button", { type: "button", "aria-label": `Step ${at + 1}, ${seconds(step.at_us)} s: ${step.words}`, title: step.words, onclick: () => onStep(at) });
      pips.replaceChildren(...story.steps.map((step, at) => element(document, `li.${step.kind}`, {}, [buttonOf(step, at)])));
    },
    show(story, at) {
      const step = story.steps[at];
      setText(name, `${story.producer}/${story.sequence_id}, ${NOUNS[story.kind]}`);
      setText(count, `${at + 1} of ${story.steps.length}`);
      setText(time, `${seconds(step.at_us)} s`);
      setText(words, step.words);
      bar.dataset.step = step.kind;
      bar.classList.toggle("is-harm", story.harm);
      [...pips.children].forEach((pip, number) => {
        pip.classList.toggle("past", number < at);
        const button = required(pip, "button");
        if (number === at) button.setAttribute("aria-current", "step");
        else button.removeAttribute("aria-current");
      });
    },
    showPlaying(playing) {
      play_button.setAttribute("aria-pressed", String(playing));
      setText(play_button, playing ? "Pause" : "Play story");
    },
  };
}
