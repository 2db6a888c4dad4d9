/** Finds the partitions of one topic by their names in Pulsar. */

import { topicsOf } from "./topics.js";

const PARTITION = /^(.*)-partition-(\d+)$/;

/** @returns {string[]} names of all partitions of the topic that `topic` belongs to, in order; empty when it is not partitioned */
export function partitionsOf(state, topic) {
  const whole = PARTITION.exec(topic)?.[1];
  if (whole === undefined) return [];
  return topicsOf(state)
    .map((name) => PARTITION.exec(name))
    .filter((found) => found?.[1] === whole)
    .sort((a, b) => Number(a[2]) - Number(b[2]))
    .map((found) => found[0]);
}
