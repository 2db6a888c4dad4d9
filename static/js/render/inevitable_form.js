/** The inputs of the panel “When inevitable?”: duplicates, failover, and how the run is run again. */

import { INPUTS, MORE_THAN_MAX } from "../model/inevitable.js";
import { seconds } from "../model/format.js";
import { allOf, element } from "./dom.js";

/** @param {Document} document @param {{onStart: () => void, onCancel: () => void, onMoreThan: (number: string) => void}} acts */
export function inevitableForm(document, { onStart, onCancel, onMoreThan }) {
  const more_than = element(document, "input", { type: "number", name: "more_than", min: 0, max: MORE_THAN_MAX, step: 1, placeholder: "median", "aria-describedby": "more-than-hint" });
  const numbers = Object.entries(INPUTS).map(([name, { first, least, most }]) => element(document, "input", { type: "number", name, min: least, max: most, step: 1, value: first, required: true }));
  const arrivals = element(document, "input", { type: "checkbox", name: "arrivals", checked: true });
  const failure = element(document, "select", { name: "failure" });
  let answered = false;
  const which = element(document, "label", { hidden: true }, ["before ", failure]);
  const run = element(document, "button.action", { type: "submit", text: "Run" });
  const cancel = element(document, "button", { type: "button", hidden: true, text: "Cancel", onclick: onCancel });
  const node = element(document, "form", {}, [
    element(document, "p.first", {}, [element(document, "label", {}, ["More than ", more_than, " duplicates"]), which, run, cancel]),
    element(document, "p.quiet", { id: "more-than-hint", text: "Without a number: the median of the re-runs from the earliest instant." }),
    element(document, "details", {}, [
      element(document, "summary", { text: "How it is run again" }),
      ...numbers.map((input) => element(document, "label", {}, [input, ` ${INPUTS[input.name].words}`])),
      element(document, "label", {}, [arrivals, " producers with regular intervals publish at random intervals of the same mean"]),
    ]),
  ]);
  node.addEventListener("submit", (event) => {
    event.preventDefault();
    onStart();
  });
  const ask = () => more_than.reportValidity() && onMoreThan(more_than.value);
  more_than.addEventListener("change", ask);
  more_than.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !answered) return; // another number needs no further run
    event.preventDefault();
    ask();
  });
  return {
    node,
    values: () => ({ failure: failure.value || 0, ...Object.fromEntries(numbers.map(({ name, value }) => [name, value])), arrivals: arrivals.checked ? "poisson" : "as-declared" }),
    /** @param {any} answer null before the first one @param {boolean} asked whether re-runs were started */
    show(answer, asked) {
      answered = Boolean(answer);
      const running = asked && (!answer || answer.state === "running");
      run.disabled = running;
      run.textContent = answer ? "Run again" : "Run";
      cancel.hidden = !running || !answer;
      if (answer) more_than.placeholder = String(answer.more_than);
      offer(document, which, failure, answer?.failures ?? []);
    },
  };
}

/** A choice of the failover, where the run has several. */
function offer(document, label, select, failures) {
  label.hidden = failures.length < 2;
  if (allOf(select, "option").length === failures.length) return;
  const chosen = select.value;
  select.replaceChildren(...failures.map(({ at_us, label: words }, at) => element(document, "option", { value: at, selected: String(at) === chosen, text: `${seconds(at_us)} s: ${words}` })));
}
