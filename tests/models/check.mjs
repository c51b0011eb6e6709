// Downloads models by their names, runs them, and compares what they give with the figures of models.json. It needs a network
// (1.9 GB).

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { buildPackage } from "../../web/build/build.mjs";
import { dist } from "../../web/build/paths.mjs";
import { say } from "../../web/build/run.mjs";
import { optionsOf } from "../../web/build/usage.mjs";

const USAGE = `npm run check:models -- [options]: five published models (1.9 GB) give what is known of them
  --only LIST       these models
  --keep FOLDER     keeps what was downloaded
  --host ADDRESS    of another hub
  --models FILE     another list
  --record          adds figures that are not yet known to the list
  --help            this text`;

/** How many of the likeliest next tokens, and of the numbers of an embedding, are compared. */
const SHOWN = 5;

/** Numbers of an embedding may differ by so much: another engine may add in another order. */
const TOLERANCE = 1e-3;

/** What a model gives. */
async function figuresOf(hw, name, { text, tokens }, options) {
  const { hub, inspectModel, loadModel, openModel } = await import("headwise/models");
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

/** Checks models one after another; resolves to how many do not agree with what is known. */
async function check(names, list, file, options) {
  const { createAttention } = await import("headwise");
  let failed = 0;
  for (const name of names) {
    console.log(name);
    // an instance for each: its memory does not shrink
    const hw = await createAttention({ backend: "wasm" });
    try {
      if (!list[name]) throw new Error(`it is not in ${file}, which has ${Object.keys(list).join(", ")}`);
      const found = await figuresOf(hw, name, list[name], options);
      if (!compare(found, list[name])) failed += 1;
      else if (options.record) list[name] = { ...found, ...list[name] };
    } catch (error) {
      console.log(`  failed: ${error.message}`);
      failed += 1;
    } finally {
      hw.dispose();
    }
  }
  return failed;
}

try {
  const options = optionsOf(USAGE, { likely: "only" });
  const file = options.models ?? fileURLToPath(new URL("models.json", import.meta.url));
  const list = JSON.parse(readFileSync(file, "utf8"));
  const names = options.only?.split(",") ?? Object.keys(list);
  if (!existsSync(path.join(dist, "models.js"))) await buildPackage();
  const failed = await check(names, list, file, options);
  if (options.record) writeFileSync(file, `${JSON.stringify(list, null, 2)}\n`);
  console.log(`\n${names.length - failed} of ${names.length} models agree with what is known`);
  process.exit(failed === 0 ? 0 : 1);
} catch (error) {
  say(error.message);
  process.exit(1);
}
