import { encoderLayer } from "../../shell/encoderLayer.js";

/**
 * A layer with the visitor's changes, as a program.
 */
export function snippet(gains: readonly number[], hidden: readonly number[]): string {
  return `${encoderLayer(Math.max(10, ...hidden.map((token) => token + 1)))}const hidden = [${hidden.join(", ")}]; // tokens that nobody may look at; here they count from 0
const mask = Uint8Array.from({ length: tokens }, (_, token) => Number(!hidden.includes(token)));
const { output, probs } = await layer.forward(x, {
  headGain: [${gains.slice(0, 4).join(", ")}], // 0 switches a head off
  mask: { data: mask, shape: [1, 1, 1, tokens] },
  returns: { output: true, probs: true },
});
console.log(output.shape, probs.shape);
await hw.dispose();
`;
}
