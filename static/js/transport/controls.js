/** The controls of the footer: play, step, speed and the typed instant. They send requests through the lab link. */

import { parseMessage, parsePlace, seconds } from "../model/format.js";
import { required, setText } from "../render/dom.js";
import { SPEEDS, placeOfSpeed, speedText, speedWords } from "./clock.js";

/** The filter of the step button: the next event of the chosen kind, of a subscription, or about one message. */

/**
 * @param {HTMLElement} root
 * @param {(notice: object) => void} say
 * @param {() => void} onMessage called when a message was entered in its field
 */
export function makeStepFilter(root, say, onMessage) {
  const filter = required(root, "select[data-part=filter]");
  const message = required(root, "input[data-part=filter-message]");
  filter.addEventListener("change", changed);
  message.addEventListener("change", onMessage);

  function showMessageField() {
    message.hidden = filter.value !== "message";
  }

  function changed() {
    showMessageField();
    if (!message.hidden) message.focus();
  }

  function offer(value, text) {
    if ([...filter.options].some((option) => option.value === value)) return;
    filter.append(Object.assign(filter.ownerDocument.createElement("option"), { value, textContent: text }));
  }

  return {
    /** @returns {string | object | null} null when the message to follow is not named yet; a notice then asks for it */
    wanted() {
      if (filter.value.startsWith("{")) return JSON.parse(filter.value);
      if (filter.value !== "message") return filter.value;
      const found = parseMessage(message.value);
      if (found) return { message: found };
      say({ error: message.value ? `“${message.value}” names no message.` : "Which message?", hint: "Write its producer and number, such as web/5." });
      message.focus();
      return null;
    },
    chooseNext() {
      filter.selectedIndex = (filter.selectedIndex + 1) % filter.options.length;
      changed();
    },
    offerSubscriptions(welcome) {
      for (const name of welcome?.names?.subscriptions ?? []) offer(JSON.stringify({ subscription: name }), `subscription ${name}`);
    },
    /** From now on, steps stop at the events of this message. */
    followMessage(producer, number) {
      filter.value = "message";
      message.value = `${producer}/${number}`;
      showMessageField();
    },
  };
}

/** Shortest time between two texts of the instant during playback, ms of the wall clock; nobody reads more of them. */
const INSTANT_EVERY_MS = 50;

/**
 * @param {HTMLElement} root
 * @param {ReturnType<import("./lab_link.js").makeLabLink>} link
 * @param {(notice: object) => void} say
 * @param {ReturnType<import("../pages/dialogs.js").makeQuestion>} ask
 */
export function makeControls(root, link, say, ask) {
  const play = required(root, "button[data-act=play]");
  const speed = makeSpeed(root, link);
  const instant = makeInstantField(root, link, say);
  const filter = makeStepFilter(root, say, () => step(link.step));
  let state = null;

  function step(ask) {
    const wanted = filter.wanted();
    if (wanted !== null) ask(wanted);
  }

  /** At the scenario's end no more commands are planned, so the viewer is asked before the lab continues. */
  function playPause() {
    const until_us = state?.welcome?.until_us;
    if (state?.playing) link.pause();
    else if (!state?.welcome?.owner || state.at_us !== until_us) link.play(speed.chosen());
    else
      ask({
        title: `The scenario ends at ${seconds(until_us)} s`,
        words: "The lab can run on: clients and brokers keep working, and no more commands are planned.",
        choices: [{ says: `Run past ${seconds(until_us)} s`, act: () => link.play(speed.chosen()) }],
      });
  }

  const acts = {
    playPause,
    step: () => step(link.step),
    stepBack: () => step(link.stepBack),
    nextFilter: filter.chooseNext,
    slower: () => speed.changeBy(-1),
    faster: () => speed.changeBy(1),
    goTo: instant.edit,
  };
  play.addEventListener("click", acts.playPause);
  required(root, "[data-act=step]").addEventListener("click", acts.step);
  required(root, "[data-act=step-back]").addEventListener("click", acts.stepBack);

  return {
    acts,
    /** Sets the step filter to the message that is followed. */
    followMessage: filter.followMessage,
    update(next, shown_us, wall_ms) {
      if (next.welcome !== state?.welcome) filter.offerSubscriptions(next.welcome);
      if (next.playing !== state?.playing) {
        play.setAttribute("aria-pressed", String(next.playing));
        play.setAttribute("aria-label", next.playing ? "Pause" : "Play");
      }
      state = next;
      instant.show(shown_us, next.playing, wall_ms);
      speed.show(next.speed);
    },
  };
}

/** The speed: a slider over the steps of `SPEEDS`. The chosen value is shown until the lab has applied it. */
function makeSpeed(root, link) {
  const slider = required(root, "input[data-part=speed]");
  const text = required(root, "[data-part=speed-text]");
  let wanted = null;
  slider.max = String(SPEEDS.length - 1);
  slider.addEventListener("input", () => choose(Number(slider.value)));

  const chosen = () => SPEEDS[Number(slider.value)];

  function choose(at) {
    slider.value = String(Math.max(0, Math.min(SPEEDS.length - 1, at)));
    wanted = chosen();
    write();
    link.speed(chosen());
  }

  function write() {
    setText(text, speedText(chosen()));
    slider.setAttribute("aria-valuetext", speedWords(chosen()));
  }

  return {
    chosen,
    changeBy: (steps) => choose(Number(slider.value) + steps),
    show(speed) {
      if (wanted !== null && speed === wanted) wanted = null;
      if (wanted !== null || chosen() === speed) return;
      slider.value = String(placeOfSpeed(speed));
      write();
    },
  };
}

/** The instant shown, which is also a field for typing another one. */
function makeInstantField(root, link, say) {
  const now = required(root, "input[data-part=now]");
  let written_ms = -Infinity;
  now.addEventListener("change", () => {
    const place = parsePlace(now.value);
    if (place === null) say({ error: `“${now.value}” is not an instant.`, hint: "Write seconds (12.5), with a unit (300ms, 2m), as minutes (1:05.2), or the number of an event (#1234)." });
    else if ("seq" in place) link.seekSeq(place.seq);
    else link.seek(place.at_us);
    now.blur();
  });

  return {
    edit() {
      now.focus();
      now.select();
    },
    show(shown_us, playing, wall_ms) {
      if (playing && wall_ms - written_ms < INSTANT_EVERY_MS) return;
      if (now.ownerDocument.activeElement === now) return;
      written_ms = wall_ms;
      const text = seconds(shown_us);
      if (now.value === text) return;
      now.value = text;
      const size = Math.max(5, text.length);
      if (now.size !== size) now.size = size; // for browsers that do not size a field by its content
    },
  };
}
