/**
 * The owner's tokens of experiments and audits, stored in this browser under the task's id. Only it has the list.
 * Private windows may refuse storage; the token then lasts as long as the page.
 */

/**
 * The tokens of one kind of task.
 * @param {string} noun "experiment" or "audit"
 * @param {Window} window
 */
export function taskTokens(noun, window) {
  const prefix = `failover-lab.${noun}.`;

  function keep(id, token) {
    try {
      window.localStorage.setItem(prefix + id, token);
    } catch (reason) {
      console.info(`The token travels in the address only: ${reason.message}`);
    }
  }

  return {
    keep,
    /** The token of a task: from the fragment of the address, which is then removed, or from storage. @param {string} id @returns {string | null} */
    of(id) {
      const given = new URLSearchParams(window.location.hash.slice(1)).get("token");
      if (given) {
        keep(id, given);
        window.history.replaceState(null, "", window.location.pathname + window.location.search);
        return given;
      }
      try {
        return window.localStorage.getItem(prefix + id);
      } catch {
        return null;
      }
    },
    /** @returns {{id: string, token: string | null}[]} every task whose token this browser stores */
    own() {
      try {
        const storage = window.localStorage;
        return Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? "")
          .filter((key) => key.startsWith(prefix))
          .map((key) => ({ id: key.slice(prefix.length), token: storage.getItem(key) }));
      } catch {
        return [];
      }
    },
    /** Deletes the token of a task that no longer exists. @param {string} id */
    forget: (id) => window.localStorage.removeItem(prefix + id),
  };
}
