/** The third protocol of the tests on pages without a lab. */

/** @type {import("../../../static/js/protocols/light_table.js").LightProtocol} */
export const SINGLE_LOG_LIGHT = { draws: ({ servers }) => Boolean(servers), paintPicture() {}, causes: {} };
