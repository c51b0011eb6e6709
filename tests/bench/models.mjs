// node tests/bench/models.mjs: how fast models load, how much memory that takes, and how fast they compute. All goals are
// ratios within this run: the machine may be busy with other work, and both sides of a ratio then take longer.
//
// Prompts and tokens need ONNX Runtime Web: `npm ci --prefix tests/bench` installs it.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { settingsOf, wholeNumber } from "../../web/build/usage.mjs";
import { summary } from "./harness/statistics.mjs";
import { configOf, randomFile } from "./lab/gpt2Small.mjs";
import { decodingOf } from "./models/decoding.mjs";
import { fromDist } from "./models/fromDist.mjs";
import { promptOf } from "./models/prompt.mjs";
import { print, record } from "./models/rows.mjs";
import { storiesOf } from "./models/stories.mjs";

/** The goals. Nothing fails because of them. */
const GOALS = { loading: 0.7, memory: 1 };
/** The lengths of prompts, with their goals. */
const PROMPTS = { 128: 1.5, 512: 1.2 };
/** Of a token after a prompt. */
const DECODING = 1.5;
/** Tokens a second with one thread. */
const STORIES = { first: 3000, warm: 5000 };
/** What a process may take beside the weights: arrays on their way, and garbage that V8 has not collected yet. */
const BESIDE = 64e6;
const MOST_OF_BYTES = 1.05;
/** The bytes of a second. */
const GIGABIT = 125e6;

const COLUMNS = ["what", "measured", "compared with", "ratio", "goal"];
const inFolder = (name) => fileURLToPath(new URL(`models/${name}`, import.meta.url));

const USAGE = `node tests/bench/models.mjs [options]
  --layers N      blocks of the model with GPT-2 small's shape and random weights (default 12)
  --rounds N      turns of each contender (default 5); the median counts
  --threads N     threads of the prompt and of generation (default 1)
  --record        keeps the results in the table "models" of tests/figures/figures.json
  --help          this text`;

const { layers, rounds, threads, isKept } = settingsOf(USAGE, (given) => ({
  layers: wholeNumber("--layers", given.layers ?? "12", 1),
  rounds: wholeNumber("--rounds", given.rounds ?? "5", 1),
  threads: wholeNumber("--threads", given.threads ?? "1", 1),
  isKept: given.record === true,
}));

const rows = [...(await loadingRows()), ...(await computingRows())];
print(COLUMNS, rows);
if (isKept) record("models", "node tests/bench/models.mjs", COLUMNS, rows);
process.exit(0); // otherwise the threads of ONNX Runtime would keep the process alive

/** Loading from the disk and from a server, in turns. Each load is a process of its own. */
async function loadingRows() {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-models-"));
  const servers = [];
  try {
    writeFileSync(path.join(folder, "model.safetensors"), randomFile("F32", layers));
    writeFileSync(path.join(folder, "config.json"), JSON.stringify(configOf(layers)));
    for (const rate of [[], [GIGABIT]]) {
      const options = [inFolder("fileServer.mjs"), folder, ...rate];
      servers.push(spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"] }));
    }
    const [server, connection] = await Promise.all(servers.map(addressOf));
    const places = {
      "from the disk": folder,
      "from a connection of 1 Gbit/s": connection,
      "from a server on the same machine": server,
    };
    const runs = Object.fromEntries(Object.keys(places).map((name) => [name, []]));
    for (let round = 0; round < rounds; round++)
      for (const [name, place] of Object.entries(places))
        runs[name].push(
          JSON.parse(execFileSync(process.execPath, [inFolder("loading.mjs"), place], { encoding: "utf8" })),
        );
    return Object.entries(runs).flatMap(([name, all]) => rowsOfLoading(name, all));
  } finally {
    for (const each of servers) each.kill();
    rmSync(folder, { recursive: true });
  }
}

/** The first line that a server prints. */
function addressOf(server) {
  return new Promise((resolve) => server.stdout.once("data", (line) => resolve(String(line).trim())));
}

function rowsOfLoading(name, runs) {
  const median = (of) => summary(runs.map(of)).median;
  const { bytes } = runs[0];
  const rate = (milliseconds) => `${(bytes / 1e3 / milliseconds).toFixed(0)} MB/s`;
  const mostBytes = MOST_OF_BYTES * bytes + BESIDE;
  return [
    [
      `load ${name}`,
      rate(median(({ loading }) => loading)),
      `the same bytes read only, ${rate(median(({ plain }) => plain))}`,
      median(({ plain, loading }) => plain / loading).toFixed(2),
      `at least ${GOALS.loading.toFixed(2)}`,
    ],
    [
      `memory while it loads ${name}`,
      `${(median(({ memory }) => memory) / 1e6).toFixed(0)} MB`,
      `${MOST_OF_BYTES} × model.bytes + ${BESIDE / 1e6} MB, ${(mostBytes / 1e6).toFixed(0)} MB`,
      median(({ memory }) => memory / mostBytes).toFixed(2),
      `at most ${GOALS.memory.toFixed(2)}`,
    ],
  ];
}

async function computingRows() {
  const { createAttention } = await fromDist("index.node.js");
  const { loadModel } = await fromDist("models.js");
  const ort = await import("./node_modules/onnxruntime-web/dist/ort.node.min.mjs");
  const engines = { createAttention, loadModel, threads, rounds };
  const stories = await storiesOf(engines); // before the prompt, which would warm the engine up
  const rows = [];
  for (const [length, goal] of Object.entries(PROMPTS)) {
    const prompt = await promptOf({ ...engines, ort, layers, length: Number(length) });
    rows.push([
      `prompt of ${length} tokens`,
      `${prompt.own.toFixed(0)} ms`,
      `ONNX Runtime Web, ${prompt.peer.toFixed(0)} ms`,
      prompt.ratio.toFixed(2),
      `at least ${goal.toFixed(2)}`,
    ]);
  }
  const token = await decodingOf({ ...engines, ort, layers });
  rows.push([
    "a token after a prompt",
    `${token.own.toFixed(1)} ms`,
    `ONNX Runtime Web, ${token.peer.toFixed(1)} ms`,
    token.ratio.toFixed(2),
    `at least ${DECODING.toFixed(2)}`,
  ]);
  return [...rows, ...(stories ? rowsOfStories(stories) : [])];
}

function rowsOfStories({ first, steps, calls }) {
  const rate = (tokens) => `${tokens.toFixed(0)} tokens/s`;
  return [
    ["stories260K, the first 256 tokens", rate(first), "–", "–", `at least ${rate(STORIES.first)}`],
    [
      "stories260K, warm",
      rate(steps),
      `call by call, ${rate(calls)}`,
      (steps / calls).toFixed(2),
      `at least ${rate(STORIES.warm)}`,
    ],
  ];
}
