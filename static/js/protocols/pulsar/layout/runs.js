/** Runs of entries that share a bit of their standing. Numbers only. */

/** Entries without the bit (markers, mostly) that part no run. */
const BRIDGED = 3;

/** Calls back for each run of entries with the bit, markers between them included in the run. */
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
