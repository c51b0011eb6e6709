// What one interior tile costs: the instructions of the loop over tiles, each weighted by how often it runs in a tile.

import { countsOf, loopsOf, parseListing } from "./listing.mjs";
import { countTrips } from "./trips.mjs";

const nothing = () => ({ vector: 0, products: 0, fused: 0, wordsRead: 0, wordsWritten: 0, barriers: 0, memory: 0 });

function addTo(sum, counts, times) {
  for (const [name, count] of Object.entries(counts)) sum[name] += count * times;
}

/** How often instruction `at` of a loop runs. */
const timesOf = ({ passes, exit }, at) => (at <= exit ? passes + 1 : passes);

/** Sums the counts of one pass of a loop, with all loops in it. `unbounded` are inner loops without a constant bound. */
function passOf(instructions, loop) {
  const sum = nothing();
  const unbounded = [];
  const visit = ({ begin, end, children }, times) => {
    for (let at = begin; at < end; at++) {
      const child = children.find((each) => each.begin === at);
      if (!child) addTo(sum, countsOf(instructions[at]), times(at));
      else {
        if (child.passes === undefined) unbounded.push(child);
        const each = child.passes === undefined ? () => 1 : (inner) => timesOf(child, inner);
        visit(child, (inner) => times(at) * each(inner));
        at = child.end - 1;
      }
    }
  };
  visit(loop, () => 1);
  return { sum, unbounded };
}

/** The loops that may be the one over tiles: no constant bounds them. */
const openLoops = (loops) =>
  loops.flatMap((loop) => [...(loop.passes === undefined ? [loop] : []), ...openLoops(loop.children)]);

/**
 * The cost of a tile, for one lane.
 *
 * The loop over tiles is the one whose passes issue the products that the shape demands. There may be one for interior
 * tiles and one for the others; then it is the one with fewer instructions.
 *
 * @param {string} text - the listing
 * @param {{ products: number, other: number }} expected - products of a lane in a tile, by the shape; `other` is the
 *   largest number of other products in it, such as those that rescale the output
 */
export function tileOf(text, { products, other }) {
  const listing = parseListing(text);
  const loops = countTrips(listing, loopsOf(listing));
  const passes = openLoops(loops).map((loop) => passOf(listing.instructions, loop));
  const fitting = passes.filter(({ sum }) => sum.products >= products && sum.products <= products + other);
  fitting.sort((a, b) => a.sum.vector - b.sum.vector);
  const [tile] = fitting;
  if (!tile || tile.unbounded.some((loop) => passOf(listing.instructions, loop).sum.products > 0))
    throw new Error(
      `no loop issues between ${products} and ${products + other} products a pass; the loops are\n` +
        describeLoops(listing.instructions, loops).join("\n"),
    );
  return { ...tile.sum, loops: describeLoops(listing.instructions, loops) };
}

/** One line for each loop, indented: its trips and what one pass of it issues. */
export function describeLoops(instructions, loops, indent = "  ") {
  return loops.flatMap((loop) => {
    const { sum } = passOf(instructions, { ...loop, children: [] });
    const trips = loop.passes === undefined ? "no constant bound" : `${loop.passes} trips`;
    const text = Object.entries(sum)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => `${name} ${count}`);
    return [`${indent}${trips}: ${text.join(", ")}`, ...describeLoops(instructions, loop.children, `${indent}  `)];
  });
}

/** What a tile of attention multiplies: `rows` times `keys`, in the head width and in the value width. */
export function attentionProducts({ rows, keys, width, valueWidth, threads }) {
  const scores = (rows * keys) / threads;
  const outputs = (rows * valueWidth) / threads;
  // Every score may be scaled and take an exponential; every output may be rescaled once; so may every row's sum.
  return { products: scores * (width + valueWidth), other: 4 * scores + 2 * outputs };
}

/** What a tile of a projection multiplies. */
export function projectionProducts({ rows, columns, depth, threads }) {
  const sums = (rows * columns) / threads;
  return { products: sums * depth, other: sums };
}
