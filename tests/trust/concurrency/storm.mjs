// Rounds of 64 overlapping calls on one instance, some of them aborted, some with objects that are disposed or arrays
// that are transferred meanwhile. It runs in Node and in pages.

import { bitsOf, makeCalls, randomNumbers, sameBits } from "../calls.mjs";

const CALLS = 64;
const SIZES = { heads: 2, length: 24, dim: 8 };
/** These calls append to one cache and rewind it, so two of them must not overlap. */
const TAKES_TURNS = /^cache, (float|int)|step, cache$/;
const HUNG = "did not settle";

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Random choices that depend only on the seed. */
class Choices {
  #next;
  constructor(seed) {
    this.#next = randomNumbers(seed);
  }
  below(limit) {
    return Math.floor(((this.#next() + 1) / 2) * limit);
  }
  of(list) {
    return list[this.below(list.length)];
  }
}

/** At once, after some turns of promises, or some milliseconds later. */
async function aWhile(choices) {
  const turns = choices.below(30);
  if (turns < 10) for (let turn = 0; turn < turns; ++turn) await null;
  else await pause(choices.below(12));
}

const ones = (rows) => ({ data: new Float32Array(2 * rows * 8).fill(0.5), shape: [1, 2, rows, 8] });

/**
 * The kinds of calls. Each makes a call and disturbs it, and resolves to [the promise of its result, how it may end]:
 * the right bits, or one of these codes.
 */
const KINDS = {
  plain: ({ repeated }, choices) => {
    const { call, bits } = choices.of(repeated);
    return [call(), [], bits];
  },
  aborted: ({ repeated }, choices) => {
    const { call, bits } = choices.of(repeated);
    const controller = new AbortController();
    const result = call({ signal: controller.signal });
    void aWhile(choices).then(() => controller.abort());
    return [result, ["AbortError"], bits];
  },
  transferred: ({ hw, attention }, choices) => {
    const [q, k, v] = attention.inputs.map(({ data, shape }) => ({ data: data.slice(), shape }));
    const result = hw.scaledDotProductAttention(q, k, v, { causal: true });
    void aWhile(choices).then(() => structuredClone(v.data, { transfer: [v.data.buffer] }));
    return [result, ["DETACHED_INPUT"], attention.bits];
  },
  "cache disposed": ({ hw }, choices) => {
    const work = async () => {
      const cache = await hw.kvCache({ numKvHeads: 2, headDim: 8 });
      void aWhile(choices).then(() => cache.dispose());
      await cache.append(ones(4), ones(4));
      return cache.attend(ones(3));
    };
    return [work(), ["DISPOSED"], bitsOf({ output: ones(3).data })];
  },
  "layer disposed": ({ hw, layerOptions, x, layerBits }, choices) => {
    const work = async () => {
      const layer = await hw.multiHeadAttention(layerOptions);
      void aWhile(choices).then(() => layer.dispose());
      return layer.forward(x);
    };
    return [work(), ["DISPOSED"], layerBits];
  },
  "step disposed": ({ hw, layerOptions, x, layerBits }, choices) => {
    const work = async () => {
      const layer = await hw.multiHeadAttention(layerOptions);
      const step = await hw.record((recorder) => ({ y: recorder.layer(layer, recorder.input("x", x.shape)) }));
      void aWhile(choices).then(() => choices.of([layer, step]).dispose());
      return step.run({ x });
    };
    return [work(), ["DISPOSED"], layerBits];
  },
};

/** What `work` resolves to; an error that names the step if it does not settle in time. */
async function inTime(step, milliseconds, work) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${step} ${HUNG}`)), milliseconds);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** What the calls of all rounds share, computed one after another. */
async function prepared(hw) {
  const next = randomNumbers(40);
  const random = (...shape) => ({ data: Float32Array.from({ length: shape.reduce((n, e) => n * e) }, next), shape });
  const inputs = [1, 2, 3].map(() => random(1, 2, 200, 8));
  const layerOptions = {
    numHeads: 2,
    weights: Object.fromEntries(["Wq", "Wk", "Wv", "Wo"].map((name) => [name, random(16, 16)])),
  };
  const x = random(1, 20, 16);
  const layer = await hw.multiHeadAttention(layerOptions);
  const layerBits = bitsOf(await layer.forward(x));
  layer.dispose();
  const attention = { inputs, bits: bitsOf(await hw.scaledDotProductAttention(...inputs, { causal: true })) };
  return { layerOptions, x, layerBits, attention };
}

async function repeatedOf(hw, headwise) {
  const { calls } = await makeCalls(hw, headwise, SIZES);
  const names = Object.keys(calls).filter((name) => !TAKES_TURNS.test(name));
  const repeated = [];
  for (const name of names) repeated.push({ name, call: calls[name], bits: bitsOf(await calls[name]()) });
  return repeated;
}

/** How a call ended: "right", a code, or what is wrong. */
async function endingOf(result, codes, bits, isDisposed, milliseconds) {
  let timer;
  const hung = new Promise((resolve) => {
    timer = setTimeout(resolve, milliseconds, HUNG);
  });
  const ended = result.then(
    (value) => (sameBits(bitsOf(value), bits) ? "right" : "wrong bits"),
    (error) => {
      const code = error.code > "" && typeof error.code === "string" ? error.code : error.name;
      return codes.includes(code) || (isDisposed() && code === "DISPOSED")
        ? code
        : `rejected: ${error.name}: ${error.message}`;
    },
  );
  const ending = await Promise.race([ended, hung]);
  clearTimeout(timer);
  return ending;
}

/**
 * @param {object} headwise - what an entry of the package exports, and `formula`
 * @param {{ seed: number, rounds: number, threads: number, hangs: number }} options - `hangs`: milliseconds
 * @returns {Promise<{ calls: number, endings: Record<string, number>, report: object }>} how often calls ended in which way
 */
export async function storm(headwise, { seed, rounds, threads, hangs }) {
  const endings = {};
  const choices = new Choices(seed);
  const calmly = (step, work) => inTime(step, hangs, work);
  const open = (when) => calmly(`opening ${when}`, headwise.createAttention({ backend: "wasm", threads }));
  const calm = await open("at first");
  const shared = await calmly("preparing", prepared(calm));
  const { report } = calm;
  await calmly("the first disposal", calm.dispose());
  for (let round = 0; round < rounds; ++round) {
    const hw = await open(`in round ${round}`);
    const repeated = await calmly(`calls one after another in round ${round}`, repeatedOf(hw, headwise));
    const context = { hw, ...shared, repeated };
    let isDisposed = false;
    const settling = Array.from({ length: CALLS }, () => {
      const kind = choices.of(Object.keys(KINDS));
      const [result, codes, bits] = KINDS[kind](context, choices);
      return endingOf(result, codes, bits, () => isDisposed, hangs);
    });
    // In every second round the instance itself is disposed while it computes.
    if (round % 2 === 1) await pause(choices.below(60));
    else await Promise.all(settling);
    isDisposed = true;
    void hw.dispose();
    for (const ending of await Promise.all(settling)) endings[ending] = (endings[ending] ?? 0) + 1;
  }
  return { calls: rounds * CALLS, endings, report: { variant: report.variant, threads: report.threads } };
}

/** Endings that a storm may have. */
export const RIGHT = ["right", "AbortError", "DISPOSED", "DETACHED_INPUT"];
