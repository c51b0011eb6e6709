// Reads an assembly listing of AMD's compiler: instructions, loops, and what an instruction does.

/**
 * One instruction. `op` is its name, `operands` are its texts. A dual instruction of RDNA 3 is two instructions.
 * @typedef {{ op: string, operands: string[], target: string | undefined }} Instruction
 */

/** A loop: instructions [begin, end) of the listing, and the loops in it. */

/** @returns {{ instructions: Instruction[], labels: Map<string, number> }} */
export function parseListing(text) {
  const instructions = [];
  const labels = new Map();
  for (const line of text.split("\n")) {
    const label = /^(BB\d+):/.exec(line);
    if (label) labels.set(label[1], instructions.length);
    if (!line.startsWith("\t")) continue;
    for (const half of line.split(";")[0].split("::"))
      if (half.trim()) instructions.push(parseInstruction(half.trim()));
  }
  return { instructions, labels };
}

function parseInstruction(text) {
  const [op, ...rest] = text.split(/\s+/);
  // Commas within brackets belong to a modifier, as in op_sel:[0,1].
  const operands = rest.length === 0 ? [] : rest.join(" ").split(/,\s*(?![^[]*\])/);
  const target = operands.at(-1)?.match(/^BB\d+$/)?.[0];
  return { op, operands, target };
}

/** The loops, outermost first; each has `children`, the loops directly in it. A branch backwards makes a loop. */
export function loopsOf({ instructions, labels }) {
  const ends = new Map();
  for (const [at, { target }] of instructions.entries()) {
    const begin = target === undefined ? Infinity : labels.get(target);
    if (begin <= at) ends.set(begin, Math.max(ends.get(begin) ?? 0, at + 1));
  }
  const loops = [...ends].map(([begin, end]) => ({ begin, end, children: [] }));
  loops.sort((a, b) => a.begin - b.begin || b.end - a.end);
  const top = [];
  const open = [];
  for (const loop of loops) {
    while (open.length > 0 && open.at(-1).end <= loop.begin) open.pop();
    (open.at(-1)?.children ?? top).push(loop);
    open.push(loop);
  }
  return top;
}

const isVectorRegister = (operand) => /^[-|]*v(\d+|\[)/.test(operand);
const isScalarRegister = (operand) => /^[-|]*(s(\d+|\[)|vcc)/.test(operand);

/** Numbers of products of one lane in one instruction. */
const PRODUCTS = [
  [/^v_(dual_)?(fma|fmac|mac|mad|mul|mul_legacy)_f32/, 1],
  [/^v_(fma_mix|mad_mix)_f32/, 1],
  [/^v_(pk_fma|pk_mul|dot2(acc)?_f32)_f16|^v_dot2(acc|c)?_f32_f16/, 2],
];
const FUSED = /^v_(dual_)?(fma|fmac|mac|mad|pk_fma|dot2)/;
const WORDS = { b128: 4, b96: 3, b64: 2 };

/**
 * What an instruction counts as. A product of two numbers that both vary counts as a product; a product with a
 * constant, as in an exponential, does not.
 */
export function countsOf({ op, operands }) {
  const factors = operands.slice(1, 3);
  const varies = factors.every((factor) => isVectorRegister(factor) || isScalarRegister(factor));
  const products = varies ? (PRODUCTS.find(([pattern]) => pattern.test(op))?.[1] ?? 0) : 0;
  const reads = /^ds_(read|load)/.test(op);
  const width = (WORDS[op.match(/b\d+/)?.[0]] ?? 1) * (/read2|2addr/.test(op) ? 2 : 1);
  return {
    vector: op.startsWith("v_") ? 1 : 0,
    products,
    fused: FUSED.test(op) ? products : 0,
    wordsRead: reads ? width : 0,
    wordsWritten: op.startsWith("ds_") && !reads ? width : 0,
    barriers: op === "s_barrier" ? 1 : 0,
    memory: /^(buffer|global|flat|scratch)_/.test(op) ? 1 : 0,
  };
}
