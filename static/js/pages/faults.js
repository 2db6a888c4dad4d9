/** The menus and the form that send faults and commands, opened by click or key. Each shows its effect beforehand. */

import { consequencesOf } from "../model/consequences.js";
import { recordedIn, refusalOf, withoutCommands } from "../model/recorded.js";
import { protocolOf } from "../protocols/table.js";
import { required } from "../render/dom.js";
import { makeCommandForm } from "../transport/command_form.js";
import { makeMenu } from "../transport/menu.js";

/** The protocol provides `failOver` (key O) and `look` (shows the thing of a menu item in the inspector). */
export function makeFaults({ document, root, link, getState, getWatched, failOver, look, say }) {
  const form = makeCommandForm(document, required(root, "dialog[data-part=command-dialog]"), { getState, getWatched, onCommand: give });
  const menu = makeMenu(document, required(root, "[data-part=menu-home]"), choose, wordsOf);
  const break_button = required(root, "[data-act=break]");
  /** The action for simulated runs; in a recorded one it says why there are no commands. */
  const simulated = (act) => () => (recordedIn(getState()) ? refuse() : act());
  const acts = {
    breakSomething: simulated(() => getState().view && menu.show(protocolOf(getState()).breakMenu(getState(), getWatched()), break_button)),
    failOver: simulated(() => getState().view && failOver()),
    anyCommand: simulated(() => form.show()),
  };
  break_button.addEventListener("click", acts.breakSomething);
  required(root, "[data-act=fail-over]").addEventListener("click", acts.failOver);

  function refuse() {
    say({ error: refusalOf(recordedIn(getState())), tone: "plain" });
  }

  /** Shows a menu of a thing; in a recorded run only its items that show something. */
  function show(groups, anchor) {
    const shown = recordedIn(getState()) ? withoutCommands(groups) : groups;
    if (shown.length) menu.show(shown, anchor);
    else refuse();
  }

  /** Sends a command on a new branch, so that Z undoes it. */
  function give(command) {
    link.command(command, { apart: true });
  }

  function choose(item) {
    if (item.command && item.before_us !== undefined) giveBefore(item);
    else if (item.command) give(item.command);
    else if (item.form) form.show(item.form.name, item.form.preset);
    else if (item.look) look(item.look);
    else acts[item.act]();
  }

  /** Sends a command for an earlier instant, at which the message in flight was sent, and `then` perhaps another one, and seeks to the present instant of the new branch. */
  function giveBefore({ command, before_us, then }) {
    const { at_us, playing } = getState();
    if (playing) link.pause();
    if (!link.seek(Math.max(0, before_us - 1))) return;
    give(command);
    if (then && link.seek(then.at_us)) link.command(then.command);
    link.seek(at_us);
  }

  function wordsOf(item) {
    if (item.words) return item.words;
    if (item.command) return `${consequencesOf(item.command, getState(), getWatched())}${item.before_us === undefined ? "" : " Given just before it left, on a branch."}`;
    if (item.form) return consequencesOf({ do: item.form.name, ...item.form.preset }, getState(), getWatched());
    return item.act === "failOver" ? "Choose source, target and mode; the dialog shows the cost before you confirm." : "All commands and their effects.";
  }

  /** `state` is the state that an open dialog shows; without one, the present state. */
  return { acts, menus: { show, state: getState, give, giveBefore: (item) => simulated(() => giveBefore(item))(), breakSomething: acts.breakSomething } };
}
