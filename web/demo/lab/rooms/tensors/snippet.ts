import { modelSnippet } from "./model/snippet.js";
import type { Settings } from "./problem.js";

/** The call as a program, with random tensors in place of the visitor's. */
export function snippet(settings: Settings): string {
  const { mode, heads, kvHeads, causal } = settings;
  if (mode === "model") return modelSnippet(settings);
  return `import { createAttention } from "headwise";

const hw = await createAttention();
const random = (...shape) => ({
  data: Float32Array.from({ length: shape.reduce((n, extent) => n * extent, 1) }, () => Math.random() - 0.5), // yours
  shape,
});
${mode === "layer" ? layerLines(heads, kvHeads, causal) : attentionLines(settings)}
console.log(output.shape, probs.shape);
await hw.dispose();
`;
}

function layerLines(heads: number, kvHeads: number, causal: boolean): string {
  const [width, keyWidth] = [heads * 16, kvHeads * 16];
  return `const layer = await hw.multiHeadAttention({
  inputDim: ${width},
  modelDim: ${width},
  numHeads: ${heads},
  numKvHeads: ${kvHeads},
  weights: {
    Wq: random(${width}, ${width}), // [in, out]; PyTorch's names take [out, in]
    Wk: random(${width}, ${keyWidth}),
    Wv: random(${width}, ${keyWidth}),
    Wo: random(${width}, ${width}),
  },
});
const { output, probs } = await layer.forward(random(1, 20, ${width}), {
  causal: ${causal},
  returns: { output: true, probs: true },
});`;
}

/** The width of a head of the random tensors. */
const HEAD_DIM = 16;

function attentionLines({ layout, heads, kvHeads, causal, scale }: Settings): string {
  const shape = (count: number) =>
    ({
      BHSD: `1, ${count}, 20, ${HEAD_DIM}`,
      BSHD: `1, 20, ${count}, ${HEAD_DIM}`,
      BSE: `1, 20, ${count * HEAD_DIM}`,
      BES: `1, ${count * HEAD_DIM}, 20`,
    })[layout];
  const isPacked = layout === "BSE" || layout === "BES";
  return `const [query, key, value] = [random(${shape(heads)}), random(${shape(kvHeads)}), random(${shape(kvHeads)})];
const { output, probs } = await hw.scaledDotProductAttention(query, key, value, {
  layout: "${layout}",${isPacked ? `\n  numHeads: ${heads},\n  numKvHeads: ${kvHeads},` : ""}
  causal: ${causal},${scale === 1 ? "" : `\n  scale: ${scale} / Math.sqrt(${HEAD_DIM}),`}
  returns: { output: true, probs: true },
});`;
}
