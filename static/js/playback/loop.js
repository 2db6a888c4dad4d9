/**
 * The animation loop: calls `tick` once per animation frame while something moves, and once after each `wake`.
 * It does not depend on what is drawn. It records the script time of the last frames for measurements.
 */

/** Number of recorded script times, one per animation frame. */
const KEPT = 240;

/**
 * @param {object} parts
 * @param {(run: (wall_ms: number) => void) => void} parts.request requestAnimationFrame
 * @param {() => number} parts.now ms of the wall clock
 * @param {(wall_ms: number) => boolean} parts.tick draws; returns true when it needs a further frame
 */
export function makeLoop({ request, now, tick }) {
  let asked = false;
  const times_ms = [];

  function frame(wall_ms) {
    asked = false;
    const begun_ms = now();
    const again = tick(wall_ms);
    times_ms.push(now() - begun_ms);
    if (times_ms.length > KEPT) times_ms.shift();
    if (again) wake();
  }

  function wake() {
    if (asked) return;
    asked = true;
    request(frame);
  }
  return { wake, times_ms };
}
