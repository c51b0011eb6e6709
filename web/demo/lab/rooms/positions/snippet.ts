import type { Placing } from "./placing.js";
import { DIM } from "./vocabulary.js";

/** The calculation as a program, with random words. */
export function snippet({ kind, base }: Placing, length: number, start: number): string {
  const imports = kind === "sinusoidal" ? "createAttention, sinusoidalPositions" : "createAttention";
  return `import { ${imports} } from "headwise";

const hw = await createAttention();
const [length, dim, start] = [${length}, ${DIM}, ${start}];
const random = () => Float32Array.from({ length: length * dim }, () => Math.random() * 2 - 1);
${PLACED[kind](Number(base.toPrecision(6)))}
const { probs } = await hw.scaledDotProductAttention(query, key, key, { returns: { probs: true } });
console.log(probs.shape, probs.data);
await hw.dispose();
`;
}

const PLAIN = `let query = { data: random(), shape: [length, dim] };
let key = { data: random(), shape: [length, dim] };`;
const ADDED = `const placed = random().map((x, at) => x + table[start * dim + at]);
const query = { data: placed, shape: [length, dim] };
const key = query;`;

const PLACED: Readonly<Record<Placing["kind"], (base: number) => string>> = {
  none: () => PLAIN,
  learned: () =>
    `const table = Float32Array.from({ length: (start + length) * dim }, () => Math.random()); // yours\n${ADDED}`,
  sinusoidal: (base) => `const table = sinusoidalPositions(start + length, dim, { base: ${base} }).data;\n${ADDED}`,
  rotary: (base) => `${PLAIN}
query = await hw.rotaryEmbedding(query, { positions: start, base: ${base} });
key = await hw.rotaryEmbedding(key, { positions: start, base: ${base} });`,
};
