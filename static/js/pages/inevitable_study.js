/** The re-runs that the panel “When inevitable?” shows: starts them on the server, requests the results as they arrive, cancels them. */

import { queryOf } from "../model/inevitable.js";

const ASK_EVERY_MS = 500;

const wordsOf = (reason) => [reason.message, reason.hint].filter(Boolean).join(" ");

/**
 * @param {{window: Window, requests: any, base: string, shown: () => boolean, onChange: (words?: string) => void}} parts
 *   `shown`: whether the panel is shown; without it nothing is requested, and the server ends the re-runs after a while
 */
export function makeInevitableStudy({ window, requests, base, shown, onChange }) {
  let query = null;
  let answer = null;
  let more_than = "";
  let asking = false;
  let waiting = false;

  const running = () => answer === null || answer.state === "running";

  async function ask() {
    if (asking || !query) return;
    const asked = query;
    const number = more_than;
    asking = true;
    try {
      const next = await requests.get(`${base}inevitable.json?${queryOf({ ...asked, more_than, id: answer?.id })}`);
      if (asked === query && answer?.state !== "cancelled") answer = { ...next, failure: Number(asked.failure) };
      onChange();
    } catch (reason) {
      if (answer && asked === query) answer = { ...answer, state: "stopped" };
      else query = null;
      onChange(wordsOf(reason));
    }
    asking = false;
    if (query && (running() || number !== more_than) && shown()) later();
  }

  function later() {
    waiting = true;
    window.setTimeout(() => ((waiting = false), shown() && ask()), ASK_EVERY_MS);
  }

  async function cancel() {
    const failed = await requests.post(`${base}inevitable/cancel/?${queryOf(query)}`, {}).then(() => null, wordsOf);
    if (answer && !failed) answer = { ...answer, state: "cancelled" };
    onChange(failed ?? undefined);
  }

  return {
    answer: () => answer,
    query: () => query,
    cancel,
    start(next) {
      query = next;
      answer = null;
      ask();
    },
    /** Another number of duplicates: the re-runs stay. */
    askFor(number) {
      more_than = number;
      if (answer?.state === "running" || answer?.state === "done") ask();
    },
    /** Goes on after the panel was hidden. */
    resume() {
      if (query && running() && !asking && !waiting) ask();
    },
  };
}
