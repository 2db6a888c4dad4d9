/** A message from the server that the page cannot take in; its text says why, for people. */
export class WireError extends Error {}

/** Server and page differ in version, so that the page can show nothing of the lab until it is loaded anew. */
export class VersionError extends WireError {}
