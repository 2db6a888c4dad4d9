/** The filter of the step button: the next event of the chosen kind, of a subscription, or about one message. */

import { parseMessage } from "../model/format.js";
import { required } from "../render/dom.js";

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
