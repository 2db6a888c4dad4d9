/**
 * Encodes a text in a link's fragment: deflated, in characters that an address may contain.
 * Browsers never send a fragment to the server, so only the recipient of such a link sees the text.
 */

/** Longest link, in characters: some programs cut off longer ones. */
export const LONGEST_LINK = 30_000;

/** @param {string} text @param {string} [name] what the text is: a scenario ("yaml") or a run ("run") @returns {Promise<string>} "#yaml=…" */
export async function fragmentOf(text, name = "yaml") {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return `#${name}=${letters}`;
}

/** @param {string} fragment @param {string} [name] @returns {Promise<string | null>} the text; null when there is none or the link was cut off */
export async function textOf(fragment, name = "yaml") {
  const letters = new URLSearchParams(fragment.slice(1)).get(name);
  if (!letters) return null;
  try {
    const packed = Uint8Array.from(atob(letters.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true }).decode(await through(new DecompressionStream("deflate-raw"), packed));
  } catch (reason) {
    console.info(`The link holds no text that can be read: ${reason.message}`);
    return null;
  }
}

async function through(stream, bytes) {
  const answer = new Response(new Blob([bytes]).stream().pipeThrough(stream));
  return new Uint8Array(await answer.arrayBuffer());
}
