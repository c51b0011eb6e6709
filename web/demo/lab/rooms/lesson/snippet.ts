import { encoderLayer } from "../../shell/encoderLayer.js";

/** What the lesson shows of a head, as a program. */
export function snippet(): string {
  return `${encoderLayer(10)}const returns = { output: true, probs: true, scores: "raw", query: true, key: true, value: true, headOutputs: true };
const seen = await layer.forward(x, { returns });
const moved = x.data.map((number, i) => number + seen.output.data[i]); // each word and its mix
console.log(seen.query.shape, seen.headOutputs.shape, moved.length);
await hw.dispose();
`;
}
