import { formatRows } from "../../shell/snippets.js";
import { product } from "../../shell/matrix.js";
import type { Inputs } from "./calculation.js";

/** The calculation as a program. */
export function snippet(inputs: Inputs): string {
  const { x, wq, wk, wv, heads } = inputs;
  const options = [
    ...(heads > 1 ? [`layout: "BSE", numHeads: ${heads}`] : []),
    ...(inputs.scale ? [] : ["scale: 1"]),
    ...(inputs.causal ? ["causal: true"] : []),
    ...(inputs.excludeSelf ? ["excludeSelf: true"] : []),
    "returns: { output: true, probs: true }",
  ];
  const shape = heads > 1 ? `[1, ${x.rows}, ${x.columns}]` : `[${x.rows}, ${x.columns}]`;
  const array = (name: string, rows: string) => `const ${name} = tensor(new Float32Array([\n${rows}\n]), ${shape});`;
  return `import { createAttention, tensor } from "headwise";

const hw = await createAttention();
${array("query", formatRows(product(x, wq)))}
${array("key", formatRows(product(x, wk)))}
${array("value", formatRows(product(x, wv)))}
const { output, probs } = await hw.scaledDotProductAttention(query, key, value, {
  ${options.join(",\n  ")},
});
console.log(output.shape, output.data);
console.log(probs.shape, probs.data);
await hw.dispose();
`;
}
