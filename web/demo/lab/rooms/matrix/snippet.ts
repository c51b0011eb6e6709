import type { Matrix } from "../../shell/matrix.js";
import { transposed } from "../../shell/matrix.js";
import { formatRows } from "../../shell/snippets.js";
import type { Form, Inputs } from "./steps.js";

/** The calculation as a program. */
export function snippet(inputs: Inputs, form: Form): string {
  const { sizes, x } = inputs;
  const shown = form === "columns" ? transposed(x) : x;
  const array = (name: string, m: Matrix, shape: string) =>
    `const ${name} = tensor(new Float32Array([\n${formatRows(m)}\n]), ${shape});`;
  const weight = (name: string, m: Matrix) => array(name, m, `[${m.rows}, ${m.columns}]`);
  const bias = (name: string, m: Matrix) => array(name, m, `[${m.columns}]`);
  const rules = [
    ...(inputs.scale ? [] : ["scale: 1"]),
    ...(inputs.causal ? ["causal: true"] : []),
    ...(inputs.excludeSelf ? ["excludeSelf: true"] : []),
    "returns: { output: true, probs: true }",
  ];
  const note = inputs.softmax ? "" : "// headwise always takes the softmax; without it is only in the lab.\n";
  return `import { createAttention, tensor } from "headwise";

const hw = await createAttention();
${array("x", shown, `[1, ${shown.rows}, ${shown.columns}]`)}
${weight("Wq", inputs.wq)}
${bias("bq", inputs.bq)}
${weight("Wk", inputs.wk)}
${bias("bk", inputs.bk)}
${weight("Wv", inputs.wv)}
${bias("bv", inputs.bv)}
${weight("Wo", inputs.wo)}
${bias("bo", inputs.bo)}
const layer = await hw.multiHeadAttention({
  numHeads: ${sizes.numHeads},${form === "columns" ? '\n  layout: "BES",' : ""}
  weights: { Wq, bq, Wk, bk, Wv, bv, Wo, bo },
});
${note}const { output, probs } = await layer.forward(x, {
  ${rules.join(",\n  ")},
});
console.log(output.shape, output.data);
console.log(probs.shape, probs.data);
await hw.dispose();
`;
}
