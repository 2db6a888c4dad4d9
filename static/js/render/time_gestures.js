/** The pointer on the time diagram: drag pans, control and the wheel magnify at the pointer, a click chooses, a double click goes there. */

/** A drag shorter than this is a click, px. */
const CLICK_PX = 4;

/**
 * @param {HTMLElement} section
 * @param {{onPan: (by_px: number) => void, onZoom: (direction: 1 | -1, x: number) => void, onClick: (x: number, y: number) => void, onDouble: (x: number) => void, onHover: (x: number, y: number) => void}} on x, y in the section, px
 */
export function listenToTime(section, on) {
  let from = null;
  let moved = 0;
  const place = (event) => {
    const box = section.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  section.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest("button, select")) return;
    from = { x: event.clientX };
    moved = 0;
  });
  section.addEventListener("pointermove", (event) => {
    if (!from) {
      const { x, y } = place(event);
      on.onHover(x, y);
      return;
    }
    const by = event.clientX - from.x;
    moved += Math.abs(by);
    if (moved < CLICK_PX) return;
    if (!section.hasPointerCapture(event.pointerId)) section.setPointerCapture(event.pointerId);
    from = { x: event.clientX };
    on.onPan(by);
  });
  section.addEventListener("pointerup", (event) => {
    const { x, y } = place(event);
    if (from && moved < CLICK_PX) on.onClick(x, y);
    from = null;
  });
  section.addEventListener("pointercancel", () => {
    from = null;
  });
  section.addEventListener("dblclick", (event) => {
    if (!event.target.closest("button, select")) on.onDouble(place(event).x);
  });
  section.addEventListener(
    "wheel",
    (event) => {
      const across = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey) on.onZoom(event.deltaY < 0 ? 1 : -1, place(event).x);
      else if (Math.abs(across) > Math.abs(event.shiftKey ? 0 : event.deltaY)) on.onPan(-across);
      else return; // a plain wheel scrolls the page
      event.preventDefault();
    },
    { passive: false },
  );
}
