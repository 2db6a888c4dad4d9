/**
 * Makes many small buttons a single tab stop: arrows move the focus between them.
 * They follow the rows of the buttons; Home and End move to the first and the last.
 */

const STEPS = { ArrowRight: () => 1, ArrowLeft: () => -1, ArrowDown: (across) => across, ArrowUp: (across) => -across };

/** @param {HTMLElement} layer that contains the buttons */
export function makeRoving(layer) {
  const sets = new Map(); // by name: {buttons, across, at}

  layer.addEventListener("keydown", (event) => {
    const set = sets.get(/** @type {HTMLElement} */ (event.target).dataset?.among);
    if (!set || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = set.buttons.length - 1;
    const to = event.key === "Home" ? 0 : event.key === "End" ? last : STEPS[event.key] ? Math.max(0, Math.min(last, set.at + STEPS[event.key](set.across))) : null;
    if (to === null) return;
    event.preventDefault();
    event.stopPropagation();
    choose(set, to);
    set.buttons[to].focus();
  });

  function choose(set, to) {
    set.at = to;
    set.buttons.forEach((button, place) => {
      const stop = place === to ? "0" : "-1";
      if (button.getAttribute("tabindex") !== stop) button.setAttribute("tabindex", stop);
    });
  }

  return {
    /** @param {Map<string, {buttons: HTMLElement[], across: number}>} wanted the present sets; across: number of buttons in a row */
    update(wanted) {
      for (const name of sets.keys()) if (!wanted.has(name)) sets.delete(name);
      for (const [name, { buttons, across }] of wanted) {
        const before = sets.get(name);
        if (before && before.buttons.length === buttons.length && before.buttons.every((one, at) => one === buttons[at])) continue;
        const kept = before ? buttons.indexOf(before.buttons[before.at]) : 0;
        const set = { buttons, across, at: 0 };
        sets.set(name, set);
        for (const button of buttons) button.dataset.among = name;
        choose(set, Math.max(0, kept));
      }
    },
  };
}
