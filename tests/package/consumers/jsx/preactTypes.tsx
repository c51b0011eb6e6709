/** @jsxImportSource preact */
import type {} from "./preact.js";

const probs = { data: new Float32Array(4), shape: [1, 2, 2] };

export const page = (
  <attention-map class="wide" probs={probs} causal onheadchange={({ detail }) => console.log(detail.head)} />
);

// @ts-expect-error: a palette that does not exist
export const wrong = <attention-map palette="rainbow" />;
