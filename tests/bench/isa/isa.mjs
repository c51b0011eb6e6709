// npm run bench -- --isa: what AMD's compiler makes of the kernels of attention and of projections, without a GPU.

import { percent, table } from "../columns.mjs";
import { missingPackages, openCompiler } from "./compiler.mjs";
import { goalsOf } from "./goals.mjs";
import { kernels } from "./kernels.mjs";
import { tileOf } from "./tile.mjs";

const FAMILIES = ["NAVI21", "GFX1100"];

const { header, line } = table(
  [
    ["kernel", 26, ({ name }) => name],
    ["tile", 9, ({ tile }) => tile],
    ["threads", 7, ({ threads }) => String(threads)],
    ["registers", 9, ({ registers }) => String(registers)],
    ["spilled", 7, ({ spilled }) => String(spilled)],
    ["scratch", 7, ({ scratch }) => String(scratch)],
    ["waves", 5, ({ waves }) => String(waves)],
    ["LDS", 6, ({ lds }) => String(lds)],
    ["barriers", 8, ({ barriers }) => String(barriers)],
    ["per word", 8, ({ perWord }) => perWord.toFixed(2)],
    ["issued", 7, ({ issued }) => String(issued)],
    ["products", 8, ({ products }) => String(products)],
    ["fused", 6, ({ fused }) => percent(fused)],
    ["useful", 6, ({ useful }) => percent(useful)],
  ],
  0,
);

const LEGEND = [
  "registers, spilled, scratch (bytes), waves (of 32 lanes, on a SIMD), LDS (bytes of a workgroup): by the compiler.",
  "Of one interior tile, each loop weighted by its trips: barriers (0 for a workgroup of 64, which is one wave here);",
  "per word: multiply-adds for each word that a lane reads from LDS; issued: vector instructions of a lane; products:",
  "multiply-adds that the tile's shape demands of a lane; fused: the share of all products that are fused with their",
  "sum; useful: products ÷ issued.",
].join("\n");

/**
 * Prints the figures of the kernels whose names contain `filter`, and with `verbose` their loops. Returns false if the
 * trips of a kernel do not reproduce its products.
 */
export async function printIsa({ filter, verbose }) {
  const missing = missingPackages();
  if (missing.length > 0) {
    console.log(`skipped: --isa needs the Debian packages ${missing.join(", ")}`);
    return true;
  }
  const compiler = await openCompiler();
  try {
    return await printKernels(compiler, filter, verbose);
  } finally {
    compiler.close();
  }
}

async function printKernels(compiler, filter, verbose) {
  console.log(LEGEND);
  const shaders = [];
  for (const kernel of (await kernels()).filter(({ name }) => name.includes(filter)))
    shaders.push({ kernel, ...(await spirvOf(compiler, kernel)) });
  if (shaders.length === 0) throw new Error(`--filter: no kernel is named ${JSON.stringify(filter)}`);
  let isWhole = true;
  for (const family of FAMILIES) {
    console.log(`\n${family}\n${header([])}`);
    for (const shader of shaders) isWhole = (await printFigures(compiler, family, shader, verbose)) && isWhole;
  }
  return isWhole;
}

async function spirvOf(compiler, { name, wgsl, interior }) {
  const whole = await compiler.toSpirv(name, wgsl);
  return { whole, interior: interior ? await compiler.toSpirv(`${name}-interior`, interior) : whole };
}

async function printFigures(compiler, family, { kernel, whole, interior }, verbose) {
  try {
    const figures = await figuresOf(compiler, family, kernel, whole, interior);
    console.log(line(figures, []));
    if (verbose) console.log(figures.loops.join("\n"));
    for (const { goal, isMet } of goalsOf(figures)) console.log(`  ${isMet ? "yes" : "NO "} ${goal}`);
    return true;
  } catch (error) {
    console.log(`${kernel.name}: ${error.message}`);
    return false;
  }
}

/** The compiler's figures are those of the whole kernel; the tile's are those of the kernel without its careful path. */
async function figuresOf(compiler, family, kernel, whole, interior) {
  const { statistics, listing } = await compiler.toAssembly(whole, family);
  const text = interior === whole ? listing : (await compiler.toAssembly(interior, family)).listing;
  const { products } = kernel.expected;
  const tile = tileOf(text, kernel.expected);
  return {
    ...kernel,
    family,
    registers: statistics.VGPRs,
    spilled: statistics["Spilled VGPRs"],
    scratch: statistics["Scratch size"],
    waves: statistics["Subgroups per SIMD"],
    lds: statistics["LDS size"],
    barriers: tile.barriers,
    perWord: products / tile.wordsRead,
    issued: tile.vector,
    products,
    fused: tile.fused / tile.products,
    useful: products / tile.vector,
    loops: tile.loops,
  };
}
