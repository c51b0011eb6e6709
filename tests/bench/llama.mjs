// node tests/bench/llama.mjs: how many tokens a second a Llama with random weights generates in Chromium: headwise beside
// llama.cpp as WebAssembly (@wllama/wllama), with the same weights and number of threads, turn by turn.
//
// It needs dist/ (`npm run build`), and installs the packages of the bench if they are missing.

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";

import { run, say } from "../../web/build/run.mjs";
import { namesIn, settingsOf, wholeNumber } from "../../web/build/usage.mjs";
import { summary } from "./harness/statistics.mjs";
import { describe, SHAPES } from "./llama/shapes.mjs";
import { countOf, sizeOf, tensorsOf } from "./llama/tensors.mjs";
import { openPage } from "./webgpu/chromium.mjs";

/** The goal: tokens a second of headwise ÷ those of wllama. Nothing fails because of it. */
const GOAL = 1;
const MODULE = "/tests/bench/llama/page.mjs";
const PACKAGE = new URL("node_modules/@wllama/wllama/package.json", import.meta.url);
const COLUMNS = ["weights", "threads", "headwise", "wllama", "ratio", "goal", "alike"];

const nameOf = (millions) => `${(countOf(SHAPES[millions]) / 1e6).toFixed(1)} M`;
const rateText = ({ median, spread }) => `${median.toFixed(1)} tokens/s ± ${(100 * spread).toFixed(0)} %`;

const USAGE = `node tests/bench/llama.mjs [options]
  --weights LIST    millions of weights: 30, 120 (default: both)
  --threads LIST    default 1,2
  --tokens N        tokens of a turn (default 64)
  --rounds N        turns of each (default 3); the median counts
  --help            this text`;

const ALL = Object.keys(SHAPES);
const { weights, threads, tokens, rounds } = settingsOf(USAGE, (given) => ({
  weights: namesIn("--weights", given.weights ?? ALL.join(), ALL),
  threads: (given.threads ?? "1,2").split(",").map((count) => wholeNumber("--threads", count, 1)),
  tokens: wholeNumber("--tokens", given.tokens ?? "64", 1),
  rounds: wholeNumber("--rounds", given.rounds ?? "3", 1),
}));

await install();
for (const millions of weights) console.log(`${nameOf(millions)}: ${describe(SHAPES[millions])}`);
const rows = [];
for (const millions of weights) for (const count of threads) rows.push(await measure(millions, count));
console.log(`\n${table([COLUMNS, ...rows])}\n\n${note()}`);

async function install() {
  if (existsSync(PACKAGE)) return;
  say("bench: npm ci of the peers");
  await run("npm", ["ci"], { cwd: fileURLToPath(new URL(".", import.meta.url)) });
}

/** A browser for each measurement, so that none has the memory of an earlier one. */
async function measure(millions, count) {
  const page = await openPage(MODULE);
  try {
    const { rates, alike, variant } = await page.run({ weights: millions, threads: count, tokens, rounds }, say);
    const [own, peer] = [summary(rates.headwise), summary(rates.wllama)].map(rateText);
    say(`bench: ${nameOf(millions)}, threads ${count}, ${page.name}: headwise (${variant}) ${own}, wllama ${peer}`);
    const ratio = summary(rates.headwise.map((rate, n) => rate / rates.wllama[n])).median.toFixed(2);
    return [nameOf(millions), count, own, peer, ratio, `at least ${GOAL}`, `${alike} of ${tokens}`];
  } finally {
    await page.close();
  }
}

function table(lines) {
  const texts = lines.map((cells) => cells.map(String));
  const widths = COLUMNS.map((_, n) => Math.max(...texts.map((cells) => cells[n].length)));
  return texts.map((cells) => cells.map((cell, n) => cell.padEnd(widths[n])).join("  ").trimEnd()).join("\n"); // oxfmt-ignore
}

function note() {
  const { version } = createRequire(import.meta.url)(fileURLToPath(PACKAGE));
  const read = weights.map((millions) => countOf(SHAPES[millions]) - sizeOf(tensorsOf(SHAPES[millions])[0].shape));
  return [
    `${cpus()[0]?.model}, ${new Date().toISOString()}. wllama is ${version}. Medians of ${rounds} turns of ${tokens} tokens.`,
    `A token reads all weights but the table of embeddings: ${read.map((count) => `${(count / 1e6).toFixed(1)} M`).join(", ")}.`,
    "The weights are rounded differently. headwise has a scale for each output. It takes each",
    "activation as two int16, within 2⁻²⁹ of the largest of its 128, and sums the products exactly.",
    "Q8_0 has a scale for each 32 weights, and llama.cpp rounds activations to 8 bits in the same blocks.",
    'So the texts part at some token: "alike" says how many are the same from the first on. Both cache keys and values:',
    "headwise as float32, llama.cpp as float16. wllama asks its worker for each token, and has no other way.",
  ].join("\n");
}
