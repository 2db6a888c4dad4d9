/** Draws arrow heads, for messages between lines. */

/** Arrows shorter than this have no head, px. */
const HEADED_PX = 9;

/** Draws the head just before the line that it reaches, so that the glyph there does not cover it. */
export function arrowHead(context, theme, from, to) {
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  if (length < HEADED_PX) return;
  const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const arm = 4 * theme.scale;
  const tip = { x: to.x - dx * 3.2 * theme.scale, y: to.y - dy * 3.2 * theme.scale };
  context.beginPath();
  context.moveTo(tip.x, tip.y);
  context.lineTo(tip.x - dx * arm - dy * arm * 0.55, tip.y - dy * arm + dx * arm * 0.55);
  context.lineTo(tip.x - dx * arm + dy * arm * 0.55, tip.y - dy * arm - dx * arm * 0.55);
  context.closePath();
  context.fill();
}
