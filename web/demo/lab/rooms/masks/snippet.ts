import { literal } from "../../shell/snippets.js";
import { HEAD_DIM, kvHeadsOf, optionsOf } from "./options.js";
import type { Settings } from "./settings.js";

/** The call that the room makes, as a program. */
export function snippet(settings: Settings): string {
  const { queries, keys, heads } = settings;
  const options = literal({ ...optionsOf(settings), returns: { probs: true, lse: true, entropy: true } });
  return `import { createAttention } from "headwise";

const hw = await createAttention();
const random = (...shape) => ({
  data: Float32Array.from({ length: shape.reduce((n, extent) => n * extent, 1) }, () => Math.random() * 2 - 1),
  shape,
});
const query = random(1, ${heads}, ${queries}, ${HEAD_DIM}); // batch, heads, tokens, features
const [key, value] = [random(1, ${kvHeadsOf(settings)}, ${keys}, ${HEAD_DIM}), random(1, ${kvHeadsOf(settings)}, ${keys}, ${HEAD_DIM})];
const { output, probs, lse, entropy } = await hw.scaledDotProductAttention(query, key, value, ${options});
console.log(output.shape, probs.shape, lse.shape, entropy.data);
await hw.dispose();
`;
}
