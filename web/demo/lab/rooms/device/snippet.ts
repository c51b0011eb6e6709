/** A small benchmark as a program. */
export function snippet(): string {
  return `import { createAttention } from "headwise";

const hw = await createAttention();
console.log(hw.report);
const [heads, length, dim] = [12, 512, 64];
const random = () => ({
  data: Float32Array.from({ length: heads * length * dim }, () => Math.random() - 0.5),
  shape: [1, heads, length, dim],
});
const [query, key, value] = [random(), random(), random()];
await hw.scaledDotProductAttention(query, key, value); // the engine compiles its kernels
const start = performance.now();
for (let call = 0; call < 10; call++) await hw.scaledDotProductAttention(query, key, value);
const milliseconds = (performance.now() - start) / 10;
console.log(\`\${milliseconds.toFixed(2)} ms, \${((4 * heads * length ** 2 * dim) / milliseconds / 1e6).toFixed(1)} GFLOP/s\`);
await hw.dispose();
`;
}
