/** A random name that a page keeps for its session, so that a reload goes on under the same one. */

const NAME_LETTERS = 12;

/** @param {any} window @param {string} key of the session's storage */
export function makePageName(window, key) {
  let own = read();

  function read() {
    try {
      return window.sessionStorage.getItem(key);
    } catch {
      return null; // a private window may refuse storage: after a reload the page has another name
    }
  }

  function store(name) {
    own = name;
    try {
      if (name === null) window.sessionStorage.removeItem(key);
      else window.sessionStorage.setItem(key, name);
    } catch (reason) {
      console.info(`The browser does not remember the name of this page: ${reason.message}`);
    }
  }

  return {
    /** @returns {string | null} */
    own: () => own,
    keep: () => store(Array.from(window.crypto.getRandomValues(new Uint8Array(NAME_LETTERS)), (byte) => "abcdefghijklmnop"[byte % 16]).join("")),
    drop: () => own !== null && store(null),
  };
}
