/**
 * The owner's token: comes once in the address's fragment (never sent to a server), then lives in local storage
 * under the lab's id. Private windows may refuse storage; the token then lasts as long as the page.
 */

const keyOf = (lab_id) => `failover-lab.token.${lab_id}`;

/**
 * @param {string} lab_id
 * @param {Location} location
 * @param {Storage | null} storage
 * @param {History | null} history its fragment is wiped, so that the address bar shows the viewing link
 * @returns {string | null}
 */
export function ownerToken(lab_id, location, storage, history) {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return read(storage, lab_id);
  try {
    storage?.setItem(keyOf(lab_id), given);
    history?.replaceState(null, "", location.pathname + location.search);
  } catch (reason) {
    console.info(`The token stays in the address: ${reason.message}`);
  }
  return given;
}

function read(storage, lab_id) {
  try {
    return storage?.getItem(keyOf(lab_id)) ?? null;
  } catch {
    return null;
  }
}
