/** Sends a request a moment after the last call, and uses only the answer of the newest request. */

/**
 * @template T
 * @param {Window} window
 * @param {number} pause_ms
 * @param {() => Promise<T>} ask
 * @param {(answer: T) => void} take
 * @param {(reason: Error) => void} trouble
 * @returns {() => void}
 */
export function debounced(window, pause_ms, ask, take, trouble) {
  let timer = 0;
  let newest = 0;
  return () => {
    window.clearTimeout(timer);
    const own = ++newest;
    timer = window.setTimeout(async () => {
      try {
        const answer = await ask();
        if (own === newest) take(answer);
      } catch (reason) {
        if (own === newest) trouble(reason);
      }
    }, pause_ms);
  };
}
