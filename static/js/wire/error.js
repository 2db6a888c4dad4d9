/** A message from the server that the page cannot decode; its text explains why, for viewers. */
export class WireError extends Error {}

/** Server and page differ in wire version, so that the page can show nothing until it is reloaded. */
export class VersionError extends WireError {}
