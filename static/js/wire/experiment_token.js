/**
 * The owner's tokens of experiments, stored in this browser under the experiment's id. Only it has the list.
 * Private windows may refuse storage; the token then lasts as long as the page.
 */

const PREFIX = "failover-lab.experiment.";

/** @param {Window} window */
export function keepExperiment(id, token, window) {
  try {
    window.localStorage.setItem(PREFIX + id, token);
  } catch (reason) {
    console.info(`The token travels in the address only: ${reason.message}`);
  }
}

/**
 * The token of an experiment: from the fragment of the address, which is then removed, or from storage.
 * @param {string} id
 * @param {Window} window
 * @returns {string | null}
 */
export function tokenOf(id, window) {
  const given = new URLSearchParams(window.location.hash.slice(1)).get("token");
  if (given) {
    keepExperiment(id, given, window);
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
    return given;
  }
  try {
    return window.localStorage.getItem(PREFIX + id);
  } catch {
    return null;
  }
}

/** @param {Window} window @returns {{id: string, token: string | null}[]} every experiment whose token this browser stores */
export function ownExperiments(window) {
  try {
    const storage = window.localStorage;
    return Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? "")
      .filter((key) => key.startsWith(PREFIX))
      .map((key) => ({ id: key.slice(PREFIX.length), token: storage.getItem(key) }));
  } catch {
    return [];
  }
}

/** Deletes the token of an experiment that no longer exists. @param {Window} window */
export const forgetExperiment = (id, window) => window.localStorage.removeItem(PREFIX + id);
