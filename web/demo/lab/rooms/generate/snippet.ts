import type { Settings } from "./settings.js";
import { ringOf } from "./settings.js";

/** A layer with a cache of the room's kind, token by token. The weights are random numbers. */
export function snippet(settings: Settings): string {
  const ring = ringOf(settings);
  const options = [`dtype: "${settings.dtype}"`, ...(ring ? [`ring: { keepFirst: ${ring.keepFirst}, window: ${ring.window} }`] : [])]; // oxfmt-ignore
  return `import { createAttention } from "headwise";

const hw = await createAttention();
const random = (...shape) => ({
  data: Float32Array.from({ length: shape.reduce((n, extent) => n * extent, 1) }, () => (Math.random() - 0.5) / 4), // yours
  shape,
});
const layer = await hw.multiHeadAttention({
  numHeads: 4,
  position: { kind: "rotary" },
  weights: { Wq: random(64, 64), Wk: random(64, 64), Wv: random(64, 64), Wo: random(64, 64) },
});
const cache = await layer.kvCache({ ${options.join(", ")} });
await layer.forward(random(1, 17, 64), { cache, causal: true }); // the beginning
for (let step = 0; step < 100; step++) {
  const token = random(1, 1, 64); // the embedding of the token that was taken
  const { output, probs } = await layer.forward(token, { cache, causal: true, returns: { output: true, probs: true } });
  if (step % 25 === 24) console.log(output.shape, probs.shape, \`\${cache.length} tokens, \${cache.bytes} bytes\`);
}
await hw.dispose();
`;
}
