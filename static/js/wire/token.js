/**
 * The owner's token: received once in the fragment of the address, then stored in local storage under the lab's id.
 * A fragment is never sent to a server. Private windows may refuse storage; the token then lasts as long as the page.
 */

const PREFIX = "failover-lab.token.";
const keyOf = (lab_id) => `${PREFIX}${lab_id}`;

/**
 * @param {string} lab_id
 * @param {Location} location
 * @param {Storage | null} storage
 * @param {History | null} history the token is removed from its fragment, so that the address bar shows the viewing link
 * @returns {string | null}
 */
export function ownerToken(lab_id, location, storage, history) {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const given = fragment.get("token");
  if (!given) return read(storage, lab_id);
  fragment.delete("token");
  const rest = fragment.toString();
  try {
    storage?.setItem(keyOf(lab_id), given);
    history?.replaceState(null, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
  } catch (reason) {
    console.info(`The token stays in the address: ${reason.message}`);
  }
  return given;
}

/** Stores the token of a lab that was just created, so that it is listed among the visitor's labs before its page has opened. */
export function keepToken(lab_id, token, window) {
  try {
    window.localStorage.setItem(keyOf(lab_id), token);
  } catch (reason) {
    console.info(`The token travels in the address only: ${reason.message}`);
  }
}

/** @param {Window} window @returns {Storage | null} */
export function storageOf(window) {
  try {
    return window.localStorage;
  } catch {
    return null; // a private window may refuse storage; the token then lasts as long as the page
  }
}

function read(storage, lab_id) {
  try {
    return storage?.getItem(keyOf(lab_id)) ?? null;
  } catch {
    return null;
  }
}

/** @returns {{id: string, token: string}[]} every lab whose token this browser stores */
export function ownLabs(window) {
  try {
    const storage = window.localStorage;
    return Array.from({ length: storage.length }, (_, at) => storage.key(at))
      .filter((key) => key.startsWith(PREFIX))
      .map((key) => ({ id: key.slice(PREFIX.length), token: storage.getItem(key) }));
  } catch {
    return []; // a private window may refuse storage; then no token is stored
  }
}

/** Deletes the token of a lab that no longer exists. */
export const forgetToken = (lab_id, window) => window.localStorage.removeItem(keyOf(lab_id));

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
