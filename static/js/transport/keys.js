/**
 * The keyboard shortcuts, as one table from key to action; `?` lists them on the page from the same table.
 * Keys are ignored while the viewer types, and a focused button keeps space and enter. A protocol leaves out keys that do nothing in
 * its labs and may describe others in its own words.
 */

/** @type {{title: string, keys: {keys: string[], shown: string, says: string, act: string}[]}[]} */
const KEY_GROUPS = [
  {
    title: "Time",
    keys: [
      { keys: [" "], shown: "space", says: "play, pause", act: "playPause" },
      { keys: ["ArrowRight"], shown: "→", says: "step", act: "step" },
      { keys: ["ArrowLeft"], shown: "←", says: "step back", act: "stepBack" },
      { keys: ["Shift+ArrowRight"], shown: "⇧→", says: "next snapshot", act: "nextSnapshot" },
      { keys: ["Shift+ArrowLeft"], shown: "⇧←", says: "previous snapshot", act: "previousSnapshot" },
      { keys: [","], shown: ",", says: "slower", act: "slower" },
      { keys: ["."], shown: ".", says: "faster", act: "faster" },
      { keys: ["f", "F"], shown: "F", says: "next step filter", act: "nextFilter" },
      { keys: ["g", "G"], shown: "G", says: "go to an instant or an event", act: "goTo" },
    ],
  },
  {
    title: "Faults",
    keys: [
      { keys: ["b", "B"], shown: "B", says: "faults and commands", act: "breakSomething" },
      { keys: ["o", "O"], shown: "O", says: "fail over", act: "failOver" },
      { keys: ["z", "Z"], shown: "Z", says: "undo: the run without the last command", act: "undo" },
      { keys: ["y", "Y"], shown: "Y", says: "branches of this run", act: "branches" },
    ],
  },
  {
    title: "The logs",
    keys: [
      { keys: ["+", "="], shown: "+", says: "zoom in on the logs", act: "magnify" },
      { keys: ["-"], shown: "−", says: "zoom out on the logs", act: "reduce" },
      { keys: ["0"], shown: "0", says: "follow latest", act: "follow" },
      { keys: ["l", "L"], shown: "L", says: "align lanes, or scroll each separately", act: "together" },
      { keys: ["i", "I"], shown: "I", says: "fold or unfold the partitions", act: "partitions" },
      { keys: ["d", "D"], shown: "D", says: "strips by shard, or by client", act: "foldBy" },
    ],
  },
  {
    title: "The time diagram",
    keys: [
      { keys: ["["], shown: "[", says: "earlier; previous step of a story", act: "earlier" },
      { keys: ["]"], shown: "]", says: "later; next step of a story", act: "later" },
      { keys: ["m", "M"], shown: "M", says: "zoom in on time", act: "magnifyTime" },
      { keys: ["n", "N"], shown: "N", says: "zoom out on time", act: "reduceTime" },
      { keys: ["9"], shown: "9", says: "back to now", act: "followTime" },
    ],
  },
  {
    title: "A guided tour",
    keys: [
      { keys: ["PageDown"], shown: "→ Page↓", says: "on a tour: next step", act: "tourNext" },
      { keys: ["PageUp"], shown: "← Page↑", says: "on a tour: previous step", act: "tourPrevious" },
    ],
  },
  {
    title: "Moving around",
    keys: [
      { keys: ["1"], shown: "1", says: "to the logs", act: "toLogs" },
      { keys: ["2"], shown: "2", says: "to the time diagram", act: "toTime" },
      { keys: ["3"], shown: "3", says: "to the events", act: "toEvents" },
      { keys: ["ArrowUp"], shown: "↑", says: "newer event in the list", act: "newerEvent" },
      { keys: ["ArrowDown"], shown: "↓", says: "older event in the list", act: "olderEvent" },
      { keys: ["p", "P"], shown: "P", says: "next view under the logs", act: "nextPanel" },
      { keys: ["c", "C"], shown: "C", says: "copy the printout of that view", act: "copyShown" },
      { keys: ["t", "T"], shown: "T", says: "text view", act: "words" },
      { keys: ["Escape"], shown: "Esc", says: "close what is open, clear highlight", act: "clear" },
      { keys: ["?"], shown: "?", says: "all keys", act: "help" },
    ],
  },
];

/** @typedef {{without: string[], says: Object<string, string>}} KeysOf actions that a protocol does not have, and its own texts for others */

/** @param {KeysOf} of @returns {{title: string, keys: {shown: string, says: string}[]}[]} the keys in a lab of the protocol, as `?` lists them */
export function keyGroupsOf({ without, says: own }) {
  const listed = ({ shown, says, act }) => ({ shown, says: own[act] ?? says });
  return KEY_GROUPS.map(({ title, keys }) => ({ title, keys: keys.filter(({ act }) => !without.includes(act)).map(listed) }));
}

const TABLE = new Map(KEY_GROUPS.flatMap(({ keys }) => keys.flatMap((entry) => entry.keys.map((key) => [key, entry.act]))));

/**
 * @param {EventTarget} target the document
 * @param {Object<string, (() => void) & {offered?: () => boolean}>} acts by name; one that is not offered leaves its key to the browser
 * @param {AbortSignal} signal removes the listener
 */
export function listenToKeys(target, acts, signal) {
  target.addEventListener(
    "keydown",
    (/** @type {KeyboardEvent} */ event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target, event.key)) return;
      const name = event.shiftKey && event.key.startsWith("Arrow") ? `Shift+${event.key}` : event.key;
      const act = acts[TABLE.get(name)];
      if (!act || act.offered?.() === false) return;
      event.preventDefault();
      act();
    },
    { signal },
  );
}

/** Takes the focus from a button that was clicked with a pointer, so that space starts playback instead of pressing it again. */
export function blurClickedButtons(target, signal) {
  target.addEventListener(
    "click",
    (event) => {
      if (event.detail > 0 && !event.target.closest?.("dialog")) event.target.closest?.("button")?.blur();
    },
    { signal },
  );
}

function typing(element, key) {
  if (!element?.closest) return false;
  // the page behind a modal dialog gets no keys, even when the dialog's focused part has been replaced: Escape would not close it
  if (element.closest("dialog[open]") || element.ownerDocument.querySelector("dialog:modal")) return true;
  if (element.closest("input:not([type=range]), textarea, select, [contenteditable]")) return true;
  if (element.closest("[role=slider], input[type=range]") && key.startsWith("Arrow")) return true;
  return key === " " && element.closest("button, a, summary") !== null;
}
