/**
 * One question: asks for its runs, reads how far they are until they are over, and cancels them.
 * The runs are an experiment of the worker; a lost request is repeated, so that a short interruption loses nothing.
 */

/** Time between two questions about the state, ms: the worker writes it four times a second, and each first result at once. */
const ASK_EVERY_MS = 300;
const ASK_EVERY_UNTIL_FIRST_MS = 100;
/** Failed requests in a row after which the connection counts as lost. */
const FAILURES_MOST = 20;

/**
 * @param {object} parts
 * @param {ReturnType<import("./http.js").makeRequests>} parts.requests
 * @param {import("../render/dom.js").PageWindow} parts.window
 * @param {string} parts.address that begins the runs
 * @param {{yaml: string} | {query: string}} parts.question
 * @param {(message: object) => void} parts.onMessage
 * @returns {() => void} cancels the question
 */
export function askAbout({ requests, window, address, question, onMessage }) {
  let open = true;
  let made = null;
  let failures = 0;
  let have = "";
  begin();

  async function begin() {
    try {
      made = await requests.post(address, question);
    } catch (reason) {
      end({ type: "error", error: reason.message, hint: reason.hint ?? "" });
      return;
    }
    if (!open) cancel();
    else {
      onMessage({ type: "asked", ...made.asked, id: made.id, url: made.url, size: made.size });
      read();
    }
  }

  async function read() {
    if (!open) return;
    try {
      const status = await requests.get(`${made.url}status.json?have=${have}`);
      failures = 0;
      have = status.have ?? have;
      if (open) take(status);
    } catch (reason) {
      failures += 1;
      if (failures > FAILURES_MOST) end({ type: "error", error: reason.message, hint: "The answers received so far stay. Request it again when the page is connected." });
    }
    if (open) window.setTimeout(read, Number(have) > 0 ? ASK_EVERY_MS : ASK_EVERY_UNTIL_FIRST_MS);
  }

  function take(status) {
    onMessage({ type: "status", ...status });
    if (!status.over) return;
    if (status.state === "done") end({ type: "done" });
    else end({ type: "error", error: status.words, hint: status.hint });
  }

  function end(message) {
    if (!open) return;
    open = false;
    onMessage(message);
  }

  /** Asks the worker to stop; the page may be closing, so nobody waits for the answer. */
  function cancel() {
    if (made?.token) window.navigator.sendBeacon(`${made.url}cancel/`, new window.Blob([JSON.stringify({ token: made.token })], { type: "application/json" }));
  }

  return () => {
    if (!open) return;
    open = false;
    cancel();
  };
}
