/**
 * Turns the text of one socket frame into a checked object, or says in words what is wrong with it.
 * Rules: a frame of an unknown type is refused (the page is older than the server); unknown fields are kept.
 */

/** A frame that does not keep to docs/websocket.md. */
export class WireError extends Error {}

/** The wire version this page speaks; `welcome` carries the server's. */
export const WIRE_VERSION = 1;

const isText = (value) => typeof value === "string";
const isWhole = (value) => Number.isInteger(value);
const isFlag = (value) => typeof value === "boolean";
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Required fields of each frame type: name to [test, word for the message]. */
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
  viewers: { count: [isWhole, "a whole number"] },
  bye: {},
};

/**
 * @param {string} text one frame as it came off the socket
 * @returns {object} the frame; `type` is one of REQUIRED's keys
 * @throws {WireError} in words, naming the field
 */
export function decode(text) {
  const frame = parse(text);
  const required = REQUIRED[frame.type];
  if (!required) throw new WireError(`The server sent a frame of type “${frame.type}”, which this page does not know. Reload the page.`);
  for (const [name, [test, word]] of Object.entries(required)) {
    if (!test(frame[name])) throw new WireError(`The server sent a ${frame.type} frame whose “${name}” is not ${word}.`);
  }
  if (frame.type === "welcome" && frame.wire !== WIRE_VERSION) {
    throw new WireError(`The server speaks wire version ${frame.wire}, this page version ${WIRE_VERSION}. Reload the page.`);
  }
  if (frame.type === "frame") checkCells(frame.cells);
  return frame;
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

/** Columns of one cells block have one length; a shorter one would shift every mark to its right. */
function checkCells(blocks) {
  if (blocks === undefined) return;
  if (!isObject(blocks)) throw new WireError("The server sent a frame whose “cells” is not an object.");
  for (const [where, block] of Object.entries(blocks)) {
    if (!isWhole(block.first) || !Array.isArray(block.kind)) throw new WireError(`The cells of ${where} have no “first” or no “kind”.`);
    for (const column of ["producer", "number", "size", "snapshot"]) {
      if (!Array.isArray(block[column]) || block[column].length !== block.kind.length) {
        throw new WireError(`The cells of ${where} have ${block.kind.length} kinds but not as many of “${column}”.`);
      }
    }
  }
}
