/** The origin that links to share begin with, and whether other computers reach it. Pure. */

/** What is said where the address of a link works on this computer only, and how to change that. */
export const LOCAL_ONLY = "This address works on this computer only. For phones and other computers on this network, stop the server and start it as script/server --lan: it prints the address to open.";

/**
 * Whether a host name leads to the computer itself, whichever computer that is.
 * @param {string} hostname of an address, as `location.hostname` has it
 */
export const isThisComputer = (hostname) => /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|0\.0\.0\.0|\[::1?\])$/i.test(hostname);

/** @param {string} address `scheme://host:port` */
const hostnameOf = (address) => /^\w+:\/\/(\[[^\]]*\]|[^:/]*)/.exec(address)?.[1] ?? "";

/**
 * @param {{origin: string, hostname: string}} location of the page
 * @param {string} shared_address the server's SHARED_ADDRESS, "" without one
 * @returns {{origin: string, local_only: boolean}}
 */
export function sharedOrigin({ origin, hostname }, shared_address) {
  if (!isThisComputer(hostname)) return { origin, local_only: false };
  return shared_address ? { origin: shared_address, local_only: isThisComputer(hostnameOf(shared_address)) } : { origin, local_only: true };
}
