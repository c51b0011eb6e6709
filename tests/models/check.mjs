// Downloads models by their names, runs them, and compares what they give with the figures of models.json. It needs a network
// (1.9 GB): `npm run check:models`, with these options:
//
//   --only=NAME,NAME   these models
//   --keep=FOLDER      keeps what was downloaded
//   --host=ADDRESS     of another hub
//   --models=FILE      another list
//   --record           adds figures that are not yet known to the list

import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { createAttention } from "headwise";
import { hub, inspectModel, loadModel, openModel } from "headwise/models";

const text = { type: "string" };
const { values: options } = parseArgs({
  options: {
    only: text,
    keep: text,
    host: text,
    models: { ...text, default: new URL("models.json", import.meta.url).pathname },
    record: { type: "boolean", default: false },
  },
});

/** How many of the likeliest next tokens, and of the numbers of an embedding, are compared. */
const SHOWN = 5;

/** Numbers of an embedding may differ by so much: another engine may add in another order. */
const TOLERANCE = 1e-3;

/** What a model gives. */
async function figuresOf(hw, name, { text, tokens }) {
  const host = options.host && { host: options.host };
  const files = await openModel(hub(name, host), { ...(options.keep && { cache: { folder: options.keep } }) });
  const plan = await inspectModel(files, { hw });
  const precision = plan.fits[0] ?? "as-stored";
  console.log(`  ${plan.config.modelType}, ${plan.parameters} parameters, as ${precision}`);
  const { Tokenizer } = await import("@huggingface/tokenizers");
  const model = await loadModel(hw, files, { precision, ...(!tokens && { tokenizer: Tokenizer }) });
  try {
    const { logits, embedding } = await model.run(tokens ?? model.tokenizer.encode(text), { logits: "last" });
    return {
      parameters: plan.parameters,
      ...(logits && { next: likeliest(logits.data) }),
      ...(embedding && { embedding: Array.from(embedding.data.subarray(0, SHOWN)) }),
    };
  } finally {
    model.dispose();
  }
}

const likeliest = (logits) => [...logits.keys()].sort((a, b) => logits[b] - logits[a]).slice(0, SHOWN);

/** Prints what is known of the figures of a model; returns whether none differs. */
function compare(found, known) {
  const holds = Object.entries(found).map(([figure, value]) => {
    const isKnown = known[figure] !== undefined;
    const isSame = isKnown && agrees(value, known[figure]);
    const finding = isSame ? "as known" : isKnown ? `but known is ${JSON.stringify(known[figure])}` : "not yet known";
    console.log(`  ${figure} ${JSON.stringify(value)}: ${finding}`);
    return isSame || !isKnown;
  });
  return !holds.includes(false);
}

/** Whether two figures agree: a count, tokens in their order, or numbers of an embedding. */
function agrees(found, known) {
  if (typeof found === "number") return found === known;
  return found.length === known.length && found.every((number, n) => Math.abs(number - known[n]) <= TOLERANCE);
}

const list = JSON.parse(readFileSync(options.models, "utf8"));
const names = options.only?.split(",") ?? Object.keys(list);
let failed = 0;
for (const name of names) {
  console.log(name);
  // an instance for each: its memory does not shrink
  const hw = await createAttention({ backend: "wasm" });
  try {
    if (!list[name]) throw new Error(`it is not in ${options.models}, which has ${Object.keys(list).join(", ")}`);
    const found = await figuresOf(hw, name, list[name]);
    if (!compare(found, list[name])) failed += 1;
    else if (options.record) list[name] = { ...found, ...list[name] };
  } catch (error) {
    console.log(`  failed: ${error.message}`);
    failed += 1;
  } finally {
    hw.dispose();
  }
}
if (options.record) writeFileSync(options.models, `${JSON.stringify(list, null, 2)}\n`);
console.log(`\n${names.length - failed} of ${names.length} models agree with what is known`);
process.exit(failed === 0 ? 0 : 1);
