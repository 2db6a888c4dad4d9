/** Finds runs of entries that have a bit of their state in common. Numbers only. */

/** Most entries without the bit (usually markers) that do not end a run. */
const BRIDGED = 3;

/** Calls `run` for each run of entries with the bit; a run includes the markers in it. */
export function forRuns(bits, bit, run) {
  let first = -1;
  let last = -1;
  for (let at = 0; at < bits.length; at++) {
    if (bits[at] & bit) {
      if (first < 0) first = at;
      last = at;
    } else if (first >= 0 && at - last > BRIDGED) {
      run(first, last);
      first = -1;
    }
  }
  if (first >= 0) run(first, last);
}
