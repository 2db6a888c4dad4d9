/** Formats numbers, spans and instants for display, and parses typed ones. Independent of the page. */

/** @param {number} us @param {number} digits @returns {string} seconds, "12.235" */
export const seconds = (us, digits = 3) => (us / 1e6).toFixed(digits);

/** @param {number} us @returns {string} "235 ms", "1.2 s", "40 µs", "3 min" */
export function span(us) {
  const size = Math.abs(us);
  if (size < 1000) return `${us} µs`;
  if (size < 1e6) return `${trimmed(us / 1000, size < 10_000 ? 1 : 0)} ms`;
  if (size < 120e6) return `${trimmed(us / 1e6, size < 10e6 ? 1 : 0)} s`;
  return `${trimmed(us / 60e6, 1)} min`;
}

const trimmed = (value, digits) => value.toFixed(digits).replace(/\.0$/, "");

/** @returns {string} with thin spaces between thousands */
export const whole = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u2009");

/** @returns {string} a median of whole numbers, which may end in a half: "1 167.5" with a thin space */
export const halves = (value) => `${whole(Math.trunc(value))}${Number.isInteger(value) ? "" : ".5"}`;

/** @returns {string} "1 message", "2 messages" */
export const counted = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

/**
 * @param {{[figure: string]: any}} failover
 * @param {string} name of its figure
 * @returns {string} "at least 554" where the figure may rise: the target may still deliver messages again
 */
export const lowerBound = (failover, name) => `${failover.pending_repeats && (name === "duplicates" || failover[name]) ? "at least " : ""}${whole(failover[name] ?? 0)}`;

/** @returns {string} bytes, "1.2 KB" */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${trimmed(count / 1000, 1)} KB`;
  if (count < 1e9) return `${trimmed(count / 1e6, 1)} MB`;
  return `${trimmed(count / 1e9, 2)} GB`;
}

/**
 * A part of a sentence: plain text or highlighted text. `pick` is one of `choices`, which the viewer may change.
 * @typedef {string | {strong?: string, harm?: string, soft?: string, pick?: string, choices?: string[]}} TextPart
 */

/**
 * Parses a typed place to seek to: an instant ("5.8", "5800ms", "1:05.2") or a row of the trace ("#1234").
 * @returns {{at_us: number} | {seq: number} | null}
 */
export function parsePlace(text) {
  const row = /^\s*(?:#|seq\s*#?)\s*(\d+)\s*$/i.exec(text);
  if (row) return { seq: Number(row[1]) };
  const at_us = parseSpan(text);
  return at_us === null ? null : { at_us };
}

/** Parses a typed message, "web/5". @returns {[producer: string, number: number] | null} */
export function parseMessage(text) {
  const found = /^\s*(.+?)\s*[/#]\s*(\d+)\s*$/.exec(text);
  return found ? [found[1], Number(found[2])] : null;
}

const UNITS_US = { us: 1, µs: 1, ms: 1000, s: 1e6, m: 60e6, min: 60e6, h: 3600e6 };

/**
 * Parses an instant or a span: "12.5", "12.5 s", "300ms", "1:05.250". Plain numbers are seconds.
 * @returns {number | null} microseconds, null when the text is neither
 */
export function parseSpan(text) {
  const clock = /^\s*(\d+):(\d{1,2}(?:\.\d+)?)\s*$/.exec(text);
  if (clock) return Math.round((Number(clock[1]) * 60 + Number(clock[2])) * 1e6);
  const plain = /^\s*(\d+(?:[.,]\d+)?)\s*([a-zµ]*)\s*$/i.exec(text);
  if (!plain) return null;
  const unit_us = UNITS_US[plain[2] === "" ? "s" : plain[2].toLowerCase()];
  return unit_us === undefined ? null : Math.round(Number(plain[1].replace(",", ".")) * unit_us);
}

/** Prevents line breaks at the hyphens of a name: an invisible word joiner follows each. @param {string} name */
export const unbroken = (name) => name.replaceAll("-", "-\u2060");

export const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @returns {string} a phrase as a sentence: refusals have neither a capital letter nor a full stop */
export function sentence(text) {
  const begun = capitalised(text);
  return /[.!?:…]$/.test(begun) ? begun : `${begun}.`;
}

/** Splits a text of a scenario file into paragraphs, without the line breaks of the file. @returns {string[]} */
export const paragraphsOf = (text) => (text ?? "").split(/\n\s*\n/).map((part) => part.split(/\s+/).filter(Boolean).join(" ")).filter(Boolean);
