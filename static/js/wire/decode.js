/**
 * Decodes one socket message: checks its fields, unpacks its columns, and explains in words what is wrong with it.
 * Rules: a message of an unknown type is refused, because the page is then older than the server; unknown fields are kept.
 */

/** A message from the server that the page cannot decode; its text explains why, for viewers. */
export class WireError extends Error {}

/** Server and page differ in wire version, so that the page can show nothing until it is reloaded. */
export class VersionError extends WireError {}

/**
 * Unpacks what `visualizer/live/packing.py` writes: run-length encoded differences of whole numbers, and tables of such columns.
 * Rules: lengths are checked before anything is allocated; input that breaks the format is refused.
 */

/** Upper limit of the length of a column in a frame or answer. */
const LONGEST_COLUMN = 100_000;

/**
 * @param {(number | null | [number | null, number])[]} packed differences; `[d, n]` is d repeated n times; null is "no value"
 * @param {string} what the column's name, for the error
 * @returns {(number | null)[]}
 */
export function unpacked(packed, what) {
  if (!Array.isArray(packed)) throw new WireError(`The server sent “${what}”, which is not a column.`);
  const values = [];
  let last = 0;
  for (const item of packed) {
    const [difference, times] = Array.isArray(item) ? item : [item, 1];
    const fits = (difference === null || Number.isInteger(difference)) && Number.isInteger(times) && times > 0;
    if (!fits || values.length + times > LONGEST_COLUMN) throw new WireError(`The server sent “${what}”, a column with ${JSON.stringify(item)} in it.`);
    for (let n = 0; n < times; n++) values.push(difference === null ? null : (last += difference));
  }
  return values;
}

/**
 * @param {{count: number, names: string[], texts: string[], columns: Object<string, any[]>}} table
 * @param {string} what the table's name, for the error
 * @returns {object[]} one object per row, without the columns that have no value in it
 */
export function rowsOf(table, what) {
  if (!Number.isInteger(table?.count) || table.count < 0 || table.count > LONGEST_COLUMN) throw new WireError(`The server sent “${what}”, which is not a table.`);
  const rows = Array.from({ length: table.count }, () => ({}));
  for (const [name, packed] of Object.entries(table.columns)) {
    const values = unpacked(packed, `${what}.${name}`);
    if (values.length > rows.length) throw new WireError(`The server sent “${what}” with ${rows.length} rows and ${values.length} of “${name}”.`);
    const is_text = table.texts.includes(name);
    values.forEach((value, at) => {
      if (value !== null) rows[at][name] = is_text ? table.names[value] : value;
    });
  }
  return rows;
}

/** The wire version of this page; `welcome` contains the server's. */
export const WIRE_VERSION = 2;

const isText = (value) => typeof value === "string";
const isWhole = (value) => Number.isInteger(value);
const isFlag = (value) => typeof value === "boolean";
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Required fields of each message type: name to [test, what is expected, for the error]. */
const REQUIRED = {
  welcome: { wire: [isWhole, "a whole number"], lab: [isText, "text"], owner: [isFlag, "true or false"] },
  frame: {
    epoch: [isWhole, "a whole number"],
    number: [isWhole, "a whole number"],
    snapshot: [isFlag, "true or false"],
    at_us: [isWhole, "a whole number of microseconds"],
    playing: [isFlag, "true or false"],
  },
  result: { ok: [isFlag, "true or false"] },
  error: { error: [isText, "text"] },
  lagged: { missed: [isWhole, "a whole number"] },
  busy: { at_us: [isWhole, "a whole number of microseconds"] },
  viewers: { count: [isWhole, "a whole number"] },
  notice: { code: [isText, "text"] },
  presentation: { code: [(value) => value === null || isText(value), "text or null"] },
  bye: {},
};

/**
 * @param {string} text one message as received from the socket
 * @returns {object} the message; `type` is one of REQUIRED's keys
 * @throws {WireError} explains what is wrong and names the field
 */
export function decode(text) {
  const frame = parse(text);
  const required = REQUIRED[frame.type];
  if (!required) throw new WireError(`The server sent a frame of type “${frame.type}”, which this page cannot read. Reload the page.`);
  for (const [name, [test, word]] of Object.entries(required)) {
    if (!test(frame[name])) throw new WireError(`The server sent a ${frame.type} frame whose “${name}” is not ${word}.`);
  }
  if (frame.type === "welcome" && frame.wire !== WIRE_VERSION) {
    throw new VersionError(`The server uses wire version ${frame.wire}, this page version ${WIRE_VERSION}.`);
  }
  return frame.type === "frame" ? { ...frame, ...contentOf(frame) } : frame;
}

function parse(text) {
  let frame;
  try {
    frame = JSON.parse(text);
  } catch (reason) {
    throw new WireError(`The server sent a frame that is not JSON (${reason.message}).`);
  }
  if (!isObject(frame) || !isText(frame.type)) throw new WireError("The server sent a frame without a type.");
  return frame;
}

const CELL_COLUMNS = ["kind", "producer", "number", "size", "snapshot"];

/** A frame's lists, unpacked for the page. */
function contentOf(frame) {
  if (!isObject(frame.snapshot ? frame.view : frame.changes)) throw new WireError("The server sent a frame with neither a view nor its changes.");
  if (!isObject(frame.cells)) throw new WireError("The server sent a frame whose “cells” is not an object.");
  return {
    cells: Object.fromEntries(Object.entries(frame.cells).map(([where, block]) => [where, cellsOf(block, where)])),
    flights: rowsOf(frame.flights, "flights").map(arriving),
    flights_total: Object.fromEntries(rowsOf(frame.flights_total, "flights_total").map(({ from, to, count }) => [`${from} -> ${to}`, count])),
    rows: rowsOf(frame.rows, "rows"),
    kept: rowsOf(frame.kept, "kept"),
    forecast: pointsOf(frame.forecast),
  };
}

const arriving = (flight) => ({ ...flight, due_us: flight.sent_us + flight.travel_us });

/** All columns of one cells block have the same length; a shorter one would assign values to wrong cells. */
function cellsOf(block, where) {
  if (!isWhole(block.first)) throw new WireError(`The cells of ${where} have no “first”.`);
  const columns = Object.fromEntries(CELL_COLUMNS.map((name) => [name, unpacked(block[name], `cells.${name}`)]));
  for (const name of CELL_COLUMNS) {
    if (columns[name].length !== columns.kind.length) throw new WireError(`The cells of ${where} have ${columns.kind.length} kinds but not as many of “${name}”.`);
  }
  return { ...block, ...columns };
}

/** @returns {import("../model/forecast.js").Point[]} points of the risk curve, made from the packed columns */
export function pointsOf({ at_us, curves }) {
  /** @type {import("../model/forecast.js").Point[]} */
  const points = unpacked(at_us, "forecast.at_us").map((instant_us) => [instant_us, {}]);
  for (const [subscription, peer, packed] of curves) {
    unpacked(packed, "forecast").forEach((duplicates, at) => {
      if (duplicates !== null) (points[at][1][subscription] ??= {})[peer] = duplicates;
    });
  }
  return points;
}
