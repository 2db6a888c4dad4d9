/** A message of the server that does not keep to docs/websocket.md; its text says so to the person at the page. */
export class WireError extends Error {}
