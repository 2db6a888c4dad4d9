/** The names offered in forms of commands, by kind of argument. */

import { lanesOf } from "../../../model/state.js";

/** @type {Object<string, (state: import("../../../model/state.js").LabState) => string[] | null>} choices by kind of argument */
export const CHOICES = {
  node: (state) => state.welcome?.names?.nodes ?? lanesOf(state),
  session: (state) => state.welcome?.names?.sessions ?? null,
  publisher: (state) => state.welcome?.names?.publishers ?? null,
  "subscription-filter": (state) => [...new Set(Object.values(state.view?.groups ?? {}).map(({ text }) => text))],
};
