/**
 * Places where a label can be beside its anchor: top left corners in px.
 * They are computed from the anchor, the label's width and its line's height. An anchor's `end` is a position along the line that the
 * label should not exceed.
 */

export const WAYS = {
  below: (p, width) => ({ x: Math.min(p.x - width / 2, (p.end ?? Infinity) - width), y: p.y }),
  lowerRow: (p, width, line) => ({ x: Math.min(p.x - width / 2, (p.end ?? Infinity) - width), y: p.y + line * 1.5 }),
  belowEnd: (p, width) => ({ x: (p.end ?? p.x) - width, y: p.y }),
  belowLeft: (p, width) => ({ x: p.x - width + 4, y: p.y }),
  belowRight: (p) => ({ x: p.x - 4, y: p.y }),
  besideRight: (p) => ({ x: p.x + 9, y: p.y }),
  besideLeft: (p, width) => ({ x: p.x - width - 9, y: p.y }),
  above: (p, width, line) => ({ x: p.x - width / 2, y: p.y - line }),
  aboveLeft: (p, width, line) => ({ x: p.x - width, y: p.y - line }),
  aboveRight: (p, _width, line) => ({ x: p.x, y: p.y - line }),
  nearRight: (p, _width, line) => ({ x: p.x + 9, y: p.y - line * 0.35 }),
  nearLeft: (p, width, line) => ({ x: p.x - width - 9, y: p.y - line * 0.35 }),
  left: (p, width, line) => ({ x: p.x - width, y: p.y - line / 2 }),
  leftLower: (p, width, line) => ({ x: p.x - width, y: p.y + line * 0.6 }),
  leftHigher: (p, width, line) => ({ x: p.x - width, y: p.y - line * 1.6 }),
  right: (p, _width, line) => ({ x: p.x, y: p.y - line / 2 }),
};
