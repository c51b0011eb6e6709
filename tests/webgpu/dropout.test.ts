import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createAttention, type Attention, type AttentionOptions } from "headwise";
import { formula } from "headwise/formula";

import { float32Of } from "../web/close.js";
import { dropoutUse } from "../web/dropoutUse.js";
import { randomTensor } from "../web/randomTensor.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

// Dropout on WebGPU: the same weights as on wasm, in the kernels of few rows and of many rows, forward and back.

const dropout = { rate: 0.3, seed: 2 ** 45 + 3 };

const CALLS: readonly [
  name: string,
  sizes: readonly [Sq: number, Skv: number, D: number],
  options: AttentionOptions,
][] = [
  ["one row", [1, 100, 8], {}],
  ["few rows of many keys", [5, 300, 16], { causal: true }],
  ["many rows", [40, 70, 8], { causal: true, softcap: 3, headGain: [1, 0, 2, -1], sinks: [0, 1, 0.5, -1] }],
  ["wide heads, which else stay in workgroup memory", [33, 40, 64], {}],
  ["formulas", [20, 40, 8], { score: formula("s - 0.1 * abs(q - k)"), visible: formula("k % 3 != 1") }],
  [
    "a ragged batch",
    [40, 60, 8],
    { layout: "BSHD", cuSeqLensQuery: [0, 11, 11, 40], cuSeqLensKey: [0, 21, 30, 60], causal: true },
  ],
];

describeOnGpu("dropout on WebGPU", () => {
  let onGpu: Attention;
  let wasm: Attention;
  beforeAll(async () => {
    onGpu = await createOnSharedDevice();
    wasm = await createAttention({ backend: "wasm", threads: 1 });
  });
  afterAll(() => {
    onGpu.dispose();
    wasm.dispose();
  });

  test.each(Object.entries(dropoutUse).filter(([name]) => !name.includes("average")))("%s", (_, use) => use(onGpu));

  test.each(CALLS)("%s: results and gradients are those of wasm", async (_, [Sq, Skv, D], options) => {
    const [B, H, G] = options.layout ? [1, 4, 2] : [2, 4, 2];
    const shape = (heads: number, length: number) => (options.layout ? [B, length, heads, D] : [B, heads, length, D]);
    const [query, key, value] = [
      randomTensor(1, shape(H, Sq)),
      randomTensor(2, shape(G, Skv)),
      randomTensor(3, shape(G, Skv)),
    ];
    const dOutput = randomTensor(4, shape(H, Sq));
    const results = async (hw: Attention) => {
      const returns = { output: true, lse: true, entropy: true, probs: true } as const;
      const forward = await hw.scaledDotProductAttention(query, key, value, { ...options, dropout, returns, location: "cpu" }); // oxfmt-ignore
      const { output, lse } = forward;
      const gradients = await hw.attentionBackward({
        ...options,
        dropout,
        query,
        key,
        value,
        output,
        lse,
        dOutput,
        dLse: { data: randomTensor(5, lse.shape).data, shape: lse.shape },
        returns: { dQuery: true, dKey: true, dValue: true, dHeadGain: true },
        location: "cpu",
      });
      return { ...forward, ...gradients };
    };
    const [there, here] = [await results(onGpu), await results(wasm)];
    const dropped = (of: typeof here) => Array.from(of.probs.data, (p) => p === 0);
    expect(dropped(there)).toEqual(dropped(here));
    for (const name of ["output", "lse", "entropy", "probs", "dQuery", "dKey", "dValue", "dHeadGain"] as const) {
      const [a, b] = [float32Of(there[name]), float32Of(here[name])];
      const largest = Math.max(1, ...b.filter(Number.isFinite).map(Math.abs));
      const far = Array.from(b).filter((x, n) => x !== a[n] && !(Math.abs(a[n]! - x) < 2e-5 * largest));
      expect([name, far]).toEqual([name, []]);
    }
  });
});
