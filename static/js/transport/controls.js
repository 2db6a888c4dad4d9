/** The buttons of the foot: play, step, speed, the instant as typed. Shows the lab's state; asks through the lab link. */

import { parseMessage, parsePlace, seconds } from "../model/format.js";
import { required, setText } from "../render/dom.js";
import { placeOfSpeed, SPEEDS, speedText, speedWords } from "./speeds.js";

/**
 * @param {HTMLElement} root
 * @param {ReturnType<import("./lab_link.js").makeLabLink>} link
 * @param {(notice: object) => void} say
 * @param {ReturnType<import("./question_dialog.js").makeQuestion>} ask
 */
export function makeControls(root, link, say, ask) {
  const play = required(root, "[data-act=play]");
  const now = required(root, "[data-part=now]");
  const speed = required(root, "[data-part=speed]");
  const speed_text = required(root, "[data-part=speed-text]");
  const filter = required(root, "[data-part=filter]");
  const message = required(root, "[data-part=filter-message]");
  let state = null;
  let wanted_speed = null;

  const chosenSpeed = () => SPEEDS[Number(speed.value)];
  speed.max = String(SPEEDS.length - 1);

  /** @returns {string | object | null} null when the message to follow is not named yet, which is then said */
  function stepFilter() {
    if (filter.value.startsWith("{")) return JSON.parse(filter.value);
    if (filter.value !== "message") return filter.value;
    const found = parseMessage(message.value);
    if (found) return { message: found };
    say({ error: message.value ? `“${message.value}” names no message.` : "Which message?", hint: "Write its producer and number, such as web/5." });
    message.focus();
    return null;
  }

  function step(ask) {
    const wanted = stepFilter();
    if (wanted !== null) ask(wanted);
  }

  function showMessageField() {
    message.hidden = filter.value !== "message";
  }

  function setSpeed(at) {
    speed.value = String(Math.max(0, Math.min(SPEEDS.length - 1, at)));
    wanted_speed = chosenSpeed();
    saySpeed();
    link.speed(chosenSpeed());
  }

  function saySpeed() {
    setText(speed_text, speedText(chosenSpeed()));
    speed.setAttribute("aria-valuetext", speedWords(chosenSpeed()));
  }

  function offer(value, text) {
    if ([...filter.options].some((option) => option.value === value)) return;
    filter.append(Object.assign(filter.ownerDocument.createElement("option"), { value, textContent: text }));
  }

  function offerSubscriptions(welcome) {
    for (const name of welcome?.names?.subscriptions ?? []) offer(JSON.stringify({ subscription: name }), `subscription ${name}`);
  }

  /** At the scenario's end nothing more is planned: running on is asked first. */
  function playPause() {
    const until_us = state?.welcome?.until_us;
    if (state?.playing) link.pause();
    else if (!state?.welcome?.owner || state.at_us !== until_us) link.play(chosenSpeed());
    else
      ask({
        title: `The scenario ends at ${seconds(until_us)} s`,
        words: "Running on is possible: clients and brokers go on as they are, and nothing more is planned.",
        choices: [{ says: `Run past ${seconds(until_us)} s`, act: () => link.play(chosenSpeed()) }],
      });
  }

  const acts = {
    playPause,
    step: () => step(link.step),
    stepBack: () => step(link.stepBack),
    nextFilter: () => {
      filter.selectedIndex = (filter.selectedIndex + 1) % filter.options.length;
      showMessageField();
      if (!message.hidden) message.focus();
    },
    slower: () => setSpeed(Number(speed.value) - 1),
    faster: () => setSpeed(Number(speed.value) + 1),
    goTo: () => {
      now.focus();
      now.select();
    },
  };
  play.addEventListener("click", acts.playPause);
  required(root, "[data-act=step]").addEventListener("click", acts.step);
  required(root, "[data-act=step-back]").addEventListener("click", acts.stepBack);
  filter.addEventListener("change", () => {
    showMessageField();
    if (!message.hidden) message.focus();
  });
  message.addEventListener("change", () => step(link.step));
  speed.addEventListener("input", () => setSpeed(Number(speed.value)));
  now.addEventListener("change", () => {
    const place = parsePlace(now.value);
    if (place === null) say({ error: `“${now.value}” is not an instant.`, hint: "Write seconds (12.5), with a unit (300ms, 2m), as minutes (1:05.2), or the number of an event (#1234)." });
    else if (place.seq !== undefined) link.seekSeq(place.seq);
    else link.seek(place.at_us);
    now.blur();
  });

  return {
    acts,
    /** A message to follow becomes the step filter. */
    followMessage(producer, number) {
      filter.value = "message";
      message.value = `${producer}/${number}`;
      showMessageField();
    },
    update(next, shown_us) {
      if (next.welcome !== state?.welcome) offerSubscriptions(next.welcome);
      state = next;
      play.setAttribute("aria-pressed", String(next.playing));
      play.setAttribute("aria-label", next.playing ? "Pause" : "Play");
      if (now.ownerDocument.activeElement !== now) {
        const text = seconds(shown_us);
        if (now.value !== text) {
          now.value = text;
          now.size = Math.max(5, text.length); // for browsers that do not size a field by its content
        }
      }
      if (wanted_speed !== null && next.speed === wanted_speed) wanted_speed = null;
      if (wanted_speed === null && chosenSpeed() !== next.speed) {
        speed.value = String(placeOfSpeed(next.speed));
        saySpeed();
      }
    },
  };
}
