/** The names offered in forms of commands, by kind of argument, and the placeholders of empty fields. */

import { subscriptionsOf, topicsOf } from "./topics.js";

/** Placeholder of an empty field, by kind of argument. */
export const HINTS = { "setting-name": "Pulsar's own name", namespace: "tenant/namespace", position: "ledger:entry, earliest or latest", messages: "such as web/5, web/7" };

/** @type {Object<string, (state: import("../../../model/state.js").LabState, watched: object) => string[] | null>} choices by kind of argument */
export const CHOICES = {
  topic: (state) => namesOf(state).topics ?? topicsOf(state),
  "topic-or-partition": (state) => topicsOf(state),
  broker: (state) => Object.keys(state.view?.brokers ?? {}),
  subscription: (state, watched) => namesOf(state).subscriptions ?? subscriptionsOf(state, watched.topic),
  consumer: (state) => namesOf(state).consumers ?? null,
  tenant: (state) => Object.keys(state.view?.lookup?.tenants ?? {}),
  producer: (state) => namesOf(state).producers ?? Object.keys(state.view?.producers ?? {}),
  client: (state) => [...(namesOf(state).consumers ?? []), ...(namesOf(state).producers ?? [])],
};

const namesOf = (state) => state.welcome?.names ?? {};
