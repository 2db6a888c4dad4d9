/**
 * Handles the pointer on a time diagram: drag pans, Ctrl and the wheel zoom at the pointer, click chooses, double click seeks.
 * Time runs across, or down when vertical.
 */

/** A drag shorter than this is a click, px. */
const CLICK_PX = 4;

/**
 * @param {HTMLElement} section
 * @param {{vertical?: boolean, onPan: (by_px: number) => void, onZoom: (direction: 1 | -1, x: number) => void, onClick: (x: number, y: number) => void, onDouble: (x: number) => void, onHover: (x: number, y: number) => void}} on x, y in the section, px; onZoom and onDouble get the position along the axis
 */
export function listenToTime(section, on) {
  let from = null;
  let moved = 0;
  const along = (event) => (on.vertical ? event.clientY : event.clientX);
  const axis = ({ x, y }) => (on.vertical ? y : x);
  const place = (event) => {
    const box = section.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  section.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || /** @type {HTMLElement} */ (event.target).closest("button, select")) return;
    from = along(event);
    moved = 0;
  });
  section.addEventListener("pointermove", (event) => {
    if (from === null) {
      const { x, y } = place(event);
      on.onHover(x, y);
      return;
    }
    const by = along(event) - from;
    moved += Math.abs(by);
    if (moved < CLICK_PX) return;
    if (!section.hasPointerCapture(event.pointerId)) section.setPointerCapture(event.pointerId);
    from = along(event);
    on.onPan(by);
  });
  section.addEventListener("pointerup", (event) => {
    const { x, y } = place(event);
    if (from !== null && moved < CLICK_PX) on.onClick(x, y);
    from = null;
  });
  section.addEventListener("pointercancel", () => {
    from = null;
  });
  section.addEventListener("dblclick", (event) => {
    if (!/** @type {HTMLElement} */ (event.target).closest("button, select")) on.onDouble(axis(place(event)));
  });
  section.addEventListener(
    "wheel",
    (event) => {
      const across = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey) on.onZoom(event.deltaY < 0 ? 1 : -1, axis(place(event)));
      else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) on.onPan(-across);
      else return; // a plain wheel scrolls the page
      event.preventDefault();
    },
    { passive: false },
  );
}
