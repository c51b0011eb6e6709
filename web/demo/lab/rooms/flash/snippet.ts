/** A program that makes a long call and prints the memory that S × S arrays would take. */
export function snippet(length: number, causal: boolean): string {
  const shown = Math.min(length, 4096);
  return `import { createAttention } from "headwise";

const hw = await createAttention();
const [length, dim] = [${shown}, 64];
const random = () => ({ data: Float32Array.from({ length: length * dim }, () => Math.random() - 0.5), shape: [length, dim] });
const start = performance.now();
const { output, lse } = await hw.scaledDotProductAttention(random(), random(), random(), {
  causal: ${causal},
  returns: { output: true, lse: true }, // lse: the running maximum plus the logarithm of the running sum
});
console.log(output.shape, lse.shape, \`\${(performance.now() - start).toFixed(1)} ms\`);
console.log(\`S × S scores alone would take \${(4 * length ** 2) / 2 ** 20} MiB\`);
await hw.dispose();
`;
}
