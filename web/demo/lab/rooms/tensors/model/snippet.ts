import type { HeadChange } from "../../../engine/modelProtocol.js";
import { changesOf, type ModelSettings } from "./settings.js";

/** A model that is loaded, looked at and changed as in the room, with random weights in place of the visitor's. */
export function modelSnippet({ changes: list, threshold }: ModelSettings): string {
  const changes = changesOf(list);
  const layers = Math.max(2, ...changes.map(({ layer }) => layer));
  const heads = Math.max(4, ...changes.map(({ head }) => head + 1));
  const width = 4 * heads;
  return `import { createAttention } from "headwise";
import { detect } from "headwise/inspect";
import { loadModel } from "headwise/models";
import { saveSafetensors } from "headwise/train";

const hw = await createAttention();
const model = await loadModel(hw, randomFiles()); // yours: what <input type="file" webkitdirectory> gives
const { names } = model; // of the attention layers
const tokens = [5, 7, 2, 9, 5, 7, 2]; // or model.tokenizer.encode(text)
const returns = { probs: true };
// Below, layers and heads count from 0; in the room they count from 1.
const before = await model.run(tokens, { returns, logits: "last" });
for (const { layer, head, kind, score } of detect(
  names.map((name) => before.layers[name].probs),
  { data: Int32Array.from(tokens), shape: [tokens.length] },
  { threshold: ${threshold} },
))
  console.log(\`layer \${layer + 1} head \${head + 1}: \${kind} \${score.toFixed(2)}\`);

${interventionLines(changes, heads)}
const top = ({ data }) => data.indexOf(Math.max(...data));
console.log(\`next token: \${top(before.logits)} before, \${top(after.logits)} now\`);
hw.dispose();

function randomFiles() {
  const random = (...shape) => ({
    data: Float32Array.from({ length: shape.reduce((n, extent) => n * extent, 1) }, () => Math.random() - 0.5),
    shape,
  });
  const map = (from, to) => ({ weight: random(from, to), bias: random(to) });
  const norm = () => ({ weight: random(${width}), bias: random(${width}) });
  const block = () => ({
    ...{ ln_1: norm(), attn: { c_attn: map(${width}, ${3 * width}), c_proj: map(${width}, ${width}) } },
    ...{ ln_2: norm(), mlp: { c_fc: map(${width}, ${4 * width}), c_proj: map(${4 * width}, ${width}) } },
  });
  const transformer = { wte: { weight: random(32, ${width}) }, wpe: { weight: random(64, ${width}) }, ln_f: norm() };
  const h = Object.fromEntries(Array.from({ length: ${layers} }, (_, n) => [n, block()]));
  const config = { model_type: "gpt2", vocab_size: 32, n_positions: 64, n_embd: ${width}, n_layer: ${layers}, n_head: ${heads} };
  return {
    "config.json": new TextEncoder().encode(JSON.stringify(config)),
    "model.safetensors": saveSafetensors({ transformer: { ...transformer, h } }),
  };
}
`;
}

/** The run with the changes; without any, the first head is off. */
function interventionLines(changes: readonly HeadChange[], heads: number): string {
  const own: readonly HeadChange[] = changes.length > 0 ? changes : [{ layer: 1, head: 0, kind: "off" }];
  const layers = [...new Set(own.map(({ layer }) => layer))];
  const [gains, patches] = [[] as string[], [] as string[]];
  for (const layer of layers) {
    const of = (...kinds: readonly HeadChange["kind"][]) =>
      own.filter((change) => change.layer === layer && kinds.includes(change.kind));
    const off = of("off").map(({ head }) => head);
    if (off.length > 0)
      gains.push(
        `[names[${layer - 1}]]: [${listed(Array.from({ length: heads }, (_, head) => Number(!off.includes(head))))}]`,
      );
    const parts = [
      ...(of("mean").length > 0
        ? [`headOutputs: { heads: [${listed(of("mean").map(({ head }) => head))}], data: "mean" }`]
        : []),
      ...looks(of("first", "previous")),
    ];
    if (parts.length > 0) patches.push(`[names[${layer - 1}]]: { ${parts.join(", ")} }`);
  }
  const lines = [
    ...(gains.length > 0 ? [`  headGain: { ${gains.join(", ")} },`] : []),
    ...(patches.length > 0 ? [`  patch: { ${patches.join(", ")} },`] : []),
  ];
  const isLooking = own.some(({ kind }) => kind === "first" || kind === "previous");
  const maps = isLooking
    ? `const lookAt = (keyOf) => tokens.map((_, query) => tokens.map((__, key) => Number(key === keyOf(query))));
const first = lookAt(() => 0);
const previous = lookAt((query) => Math.max(0, query - 1));
`
    : "";
  return `${maps}const after = await model.run(tokens, {
${lines.join("\n")}
  returns,
  logits: "last",
});`;
}

const listed = (numbers: readonly number[]) => numbers.join(", ");

function looks(changes: readonly HeadChange[]): string[] {
  if (changes.length === 0) return [];
  const [heads, maps] = [changes.map(({ head }) => head), changes.map(({ kind }) => kind)];
  return [`probs: { heads: [${listed(heads)}], data: [${maps.join(", ")}] }`];
}
