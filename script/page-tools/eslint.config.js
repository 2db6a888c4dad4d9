/**
 * What eslint checks in the page's modules and their tests: its recommended rules, and functions of at most 60 lines as in Python.
 * Globals are listed by name, so that a module which reads one of the browser's many others (`name`, `event`) is noticed.
 */

import js from "@eslint/js";

const FUNCTION_LINES_LIMIT = 60;

const readOnly = (...names) => Object.fromEntries(names.map((name) => [name, "readonly"]));

/** Of browsers and of Node alike: what modules may use wherever they run. */
const EVERYWHERE = readOnly("Blob", "CompressionStream", "DecompressionStream", "Response", "TextDecoder", "TextEncoder", "URLSearchParams", "atob", "btoa", "console", "fetch", "performance", "setTimeout");
const BROWSER = readOnly("DOMRect", "WebSocket", "document", "localStorage", "location", "window");
const NODE = readOnly("setImmediate");

const MODULES = "static/js/**/*.js";
const TESTS = "tests/js/**/*.js";

export default [
  { ...js.configs.recommended, files: [MODULES, TESTS] },
  {
    files: [MODULES, TESTS],
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: { "max-lines-per-function": ["error", { max: FUNCTION_LINES_LIMIT, skipBlankLines: false, skipComments: false }] },
  },
  { files: [MODULES], languageOptions: { globals: { ...EVERYWHERE, ...BROWSER } } },
  { files: [TESTS], languageOptions: { globals: { ...EVERYWHERE, ...NODE } } },
];
