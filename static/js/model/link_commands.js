/** Forms of the commands about links, which any protocol may have. */

const required = true;
const link = { name: "link", kind: "link", required };

/** @type {Object<string, import("./commands.js").Command>} */
export const LINK_COMMANDS = {
  "link.cut": { says: "cut a link", arguments: [link] },
  "link.heal": { says: "heal a link", arguments: [link] },
  "link.slow": { says: "slow a link", arguments: [link, { name: "latency", kind: "duration", required, begin: "400ms" }] },
};
