/** Numbers as people read them. Nothing here depends on the page. */

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

/** @returns {string} thousands apart by a thin space */
export const whole = (value) => String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u2009");

/** @returns {string} a median of whole numbers, which may end in a half: "1 167.5" with a thin space */
export const halves = (value) => `${whole(Math.trunc(value))}${Number.isInteger(value) ? "" : ".5"}`;

/** @returns {string} "1 message", "2 messages" */
export const counted = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

/** @returns {string} bytes, "1.2 KB" */
export function bytes(count) {
  if (count < 1000) return `${count} B`;
  if (count < 1e6) return `${trimmed(count / 1000, 1)} KB`;
  if (count < 1e9) return `${trimmed(count / 1e6, 1)} MB`;
  return `${trimmed(count / 1e9, 2)} GB`;
}

/**
 * A piece of a sentence: plain text, or text that is set off; `pick` is one of `choices`, which the reader may change.
 * @typedef {string | {strong?: string, harm?: string, soft?: string, pick?: string, choices?: string[]}} TextPart
 */

/**
 * A place to go to as typed: an instant ("5.8", "5800ms", "1:05.2") or a row of the trace ("#1234").
 * @returns {{at_us: number} | {seq: number} | null}
 */
export function parsePlace(text) {
  const row = /^\s*(?:#|seq\s*#?)\s*(\d+)\s*$/i.exec(text);
  if (row) return { seq: Number(row[1]) };
  const at_us = parseSpan(text);
  return at_us === null ? null : { at_us };
}

/** A message as typed, "web/5". @returns {[producer: string, number: number] | null} */
export function parseMessage(text) {
  const found = /^\s*(.+?)\s*[/#]\s*(\d+)\s*$/.exec(text);
  return found ? [found[1], Number(found[2])] : null;
}

const UNITS_US = { us: 1, µs: 1, ms: 1000, s: 1e6, m: 60e6, min: 60e6, h: 3600e6 };

/**
 * Reads an instant or a span as typed: "12.5", "12.5 s", "300ms", "1:05.250". Plain numbers are seconds.
 * @returns {number | null} microseconds, null when it is none
 */
export function parseSpan(text) {
  const clock = /^\s*(\d+):(\d{1,2}(?:\.\d+)?)\s*$/.exec(text);
  if (clock) return Math.round((Number(clock[1]) * 60 + Number(clock[2])) * 1e6);
  const plain = /^\s*(\d+(?:[.,]\d+)?)\s*([a-zµ]*)\s*$/i.exec(text);
  if (!plain) return null;
  const unit_us = UNITS_US[plain[2] === "" ? "s" : plain[2].toLowerCase()];
  return unit_us === undefined ? null : Math.round(Number(plain[1].replace(",", ".")) * unit_us);
}

/** A name whose hyphens end no line: an invisible word joiner follows each. @param {string} name */
export const unbroken = (name) => name.replaceAll("-", "-\u2060");

export const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** @returns {string} a phrase as a sentence: what a refusal says comes without a capital and a full stop */
export function sentence(text) {
  const begun = capitalised(text);
  return /[.!?:…]$/.test(begun) ? begun : `${begun}.`;
}

/** The paragraphs of a text from a scenario file, without the line breaks of the file. @returns {string[]} */
export const paragraphsOf = (text) => (text ?? "").split(/\n\s*\n/).map((part) => part.split(/\s+/).filter(Boolean).join(" ")).filter(Boolean);
