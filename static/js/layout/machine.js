/**
 * Where the states and moves of a state machine stand: states in a row in their table's order, the move to the next one straight, others as
 * arcs: on to a later state on one side, back to an earlier one on the other, the longer the further out. Turned, the row runs down.
 * Numbers only, px.
 */

const HIGH = 38;
const GAP = 34;
const LETTER = 6.9;
const PADDING = 26;
const ARC = 15;
const ARC_STEP = 10;
const LANDING = 13;

/**
 * @param {{moves: Object<string, Object<string, string>>}} machine as the engine gives it
 * @param {{scale?: number, turned?: boolean}} [given]
 * @returns {{width: number, height: number, nodes: {state: string, x: number, y: number, width: number, height: number, last: boolean}[], edges: {from: string, to: string, words: string, path: string, head: number[], angle: number, middle: number[]}[]}}
 *   `head` is where an arrow ends, `angle` the way it points, degrees
 */
export function layMachine({ moves }, { scale: k = 1, turned = false } = {}) {
  const states = Object.keys(moves);
  const place = new Map(states.map((state, at) => [state, at]));
  const edges = states.flatMap((from) => Object.entries(moves[from]).map(([to, words]) => ({ from, to, words, by: place.get(to) - place.get(from) })));
  const reach = (side) => Math.max(0, ...edges.filter((edge) => sideOf(edge) === side).map(outOf)) * k;
  const before = reach(-1) + 6 * k;
  const widths = states.map((state) => Math.max(62, state.length * LETTER + PADDING) * k);
  const widest = Math.max(...widths);
  const nodes = [];
  let along = 4 * k;
  states.forEach((state, at) => {
    const last = Object.keys(moves[state]).length === 0;
    if (turned) nodes.push({ state, x: before, y: along, width: widest, height: HIGH * k, last });
    else nodes.push({ state, x: along, y: before, width: widths[at], height: HIGH * k, last });
    along += (turned ? HIGH * k : widths[at]) + GAP * k;
  });
  const long = along - GAP * k + 4 * k;
  const deep = before + (turned ? widest : HIGH * k) + reach(1) + 6 * k;
  const drawn = edges.map((edge) => ({ ...edge, ...wayOf(edge, nodes, place, ends(edges, edge), k, turned) }));
  return { width: turned ? deep : long, height: turned ? long : deep, nodes, edges: drawn };
}

/** −1: above, or left when turned; 1: below, or right; 0: straight on. */
const sideOf = ({ by }) => (by === 1 ? 0 : by > 0 ? -1 : 1);
const outOf = ({ by }) => ARC + ARC_STEP * (Math.abs(by) - 1);

/** Of the arcs that leave or reach the same state on the same side, which place an edge has: from −1 to 1 around the middle. */
function ends(edges, edge) {
  const spread = (state) => {
    const here = edges.filter((one) => sideOf(one) === sideOf(edge) && (one.from === state || one.to === state));
    const order = (one) => (one.from === state ? one.by : -one.by); // towards where its other end lies, the longest innermost
    const sorted = here.sort((a, b) => Math.sign(order(a)) - Math.sign(order(b)) || order(b) - order(a));
    return sorted.indexOf(edge) - (sorted.length - 1) / 2;
  };
  return { from: spread(edge.from), to: spread(edge.to) };
}

function wayOf(edge, nodes, place, spread, k, turned) {
  const [a, b] = [nodes[place.get(edge.from)], nodes[place.get(edge.to)]];
  const side = sideOf(edge);
  if (side === 0) {
    const middle = turned ? a.x + a.width / 2 : a.y + a.height / 2;
    const [from, to] = turned ? [a.y + a.height, b.y] : [a.x + a.width, b.x];
    const points = turned ? [middle, from, middle, to] : [from, middle, to, middle];
    return { path: `M${points[0]} ${points[1]}L${points[2]} ${points[3]}`, head: points.slice(2), angle: turned ? 90 : 0, middle: [(points[0] + points[2]) / 2, (points[1] + points[3]) / 2] };
  }
  const centre = (node) => (turned ? node.y + node.height / 2 : node.x + node.width / 2);
  const edge_of = (node) => (turned ? (side < 0 ? node.x : node.x + node.width) : side < 0 ? node.y : node.y + node.height);
  const landing = (turned ? 9 : LANDING) * k;
  const [from, to] = [centre(a) + spread.from * landing, centre(b) + spread.to * landing];
  const [out_a, out_b] = [edge_of(a), edge_of(b)];
  const furthest = (side < 0 ? Math.min(out_a, out_b) : Math.max(out_a, out_b)) + side * outOf(edge) * k;
  const point = (one, out) => (turned ? `${out} ${one}` : `${one} ${out}`);
  const corner = Math.min(8 * k, Math.abs(to - from) / 2) * Math.sign(to - from);
  const bend = side * Math.min(8 * k, Math.abs(furthest - out_a));
  return {
    path: `M${point(from, out_a)}L${point(from, furthest - bend)}Q${point(from, furthest)} ${point(from + corner, furthest)}L${point(to - corner, furthest)}Q${point(to, furthest)} ${point(to, furthest - bend)}L${point(to, out_b)}`,
    head: turned ? [out_b, to] : [to, out_b],
    angle: turned ? (side < 0 ? 0 : 180) : side < 0 ? 90 : 270,
    middle: turned ? [furthest, (from + to) / 2] : [(from + to) / 2, furthest],
  };
}
