/**
 * Places the states and moves of a state machine: states in a row in the order of their table, moves as lines or arcs.
 * A move to the next state is straight. A move to a later state is an arc on one side, to an earlier state on the other side; longer
 * arcs are farther out. Turned, the row runs down. Numbers only, px.
 */

const HIGH = 38;
const GAP = 34;
const LETTER = 6.9;
const PADDING = 26;
const ARC = 15;
const ARC_STEP = 10;
const LANDING = 13;

/**
 * @param {{moves: Object<string, Object<string, string>>}} machine as declared by the engine
 * @param {{scale?: number, turned?: boolean}} [given]
 * @returns {{width: number, height: number, nodes: {state: string, x: number, y: number, width: number, height: number, last: boolean}[], edges: {from: string, to: string, words: string, path: string, head: number[], angle: number, middle: number[]}[]}}
 *   `head` is the end of the arrow, `angle` its direction in degrees
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

/** −1: above, or left when turned; 1: below, or right; 0: straight. */
const sideOf = ({ by }) => (by === 1 ? 0 : by > 0 ? -1 : 1);
const outOf = ({ by }) => ARC + ARC_STEP * (Math.abs(by) - 1);

/** Position of an edge among the arcs at the same state and side, counted from the middle, so that their ends do not overlap. */
function ends(edges, edge) {
  const spread = (state) => {
    const here = edges.filter((one) => sideOf(one) === sideOf(edge) && (one.from === state || one.to === state));
    const order = (one) => (one.from === state ? one.by : -one.by); // in the order of the other ends, the longest arc innermost
    const sorted = here.sort((a, b) => Math.sign(order(a)) - Math.sign(order(b)) || order(b) - order(a));
    return sorted.indexOf(edge) - (sorted.length - 1) / 2;
  };
  return { from: spread(edge.from), to: spread(edge.to) };
}

/** Converts a position along the row and one across it to x and y. */
const pointsOf = (turned) => (along, across) => (turned ? [across, along] : [along, across]);

function wayOf(edge, nodes, place, spread, k, turned) {
  const [a, b] = [nodes[place.get(edge.from)], nodes[place.get(edge.to)]];
  return sideOf(edge) === 0 ? straightWay(a, b, turned) : arcWay(edge, a, b, spread, k, turned);
}

function straightWay(a, b, turned) {
  const point = pointsOf(turned);
  const middle = turned ? a.x + a.width / 2 : a.y + a.height / 2;
  const [from, to] = turned ? [a.y + a.height, b.y] : [a.x + a.width, b.x];
  const head = point(to, middle);
  return { path: `M${point(from, middle).join(" ")}L${head.join(" ")}`, head, angle: turned ? 90 : 0, middle: point((from + to) / 2, middle) };
}

function arcWay(edge, a, b, spread, k, turned) {
  const side = sideOf(edge);
  const before = side < 0;
  const point = pointsOf(turned);
  const centre = (node) => (turned ? node.y + node.height / 2 : node.x + node.width / 2);
  const nearSide = (node) => (turned ? node.x : node.y);
  const depth = (node) => (turned ? node.width : node.height);
  const rim = (node) => (before ? nearSide(node) : nearSide(node) + depth(node));
  const landing = (turned ? 9 : LANDING) * k;
  const [from, to] = [centre(a) + spread.from * landing, centre(b) + spread.to * landing];
  const [rim_a, rim_b] = [rim(a), rim(b)];
  const furthest = (before ? Math.min(rim_a, rim_b) : Math.max(rim_a, rim_b)) + side * outOf(edge) * k;
  const corner = Math.min(8 * k, Math.abs(to - from) / 2) * Math.sign(to - from);
  const bend = side * Math.min(8 * k, Math.abs(furthest - rim_a));
  const [m, l, q1, q2, l2, q3, q4, end] = [
    [from, rim_a],
    [from, furthest - bend],
    [from, furthest],
    [from + corner, furthest],
    [to - corner, furthest],
    [to, furthest],
    [to, furthest - bend],
    [to, rim_b],
  ].map(([along, across]) => point(along, across).join(" "));
  const [into_before, into_after] = turned ? [0, 180] : [90, 270];
  return {
    path: `M${m}L${l}Q${q1} ${q2}L${l2}Q${q3} ${q4}L${end}`,
    head: point(to, rim_b),
    angle: before ? into_before : into_after,
    middle: point((from + to) / 2, furthest),
  };
}
