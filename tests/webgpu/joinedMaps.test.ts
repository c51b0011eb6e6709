// A product of a step also computes the map of its result: with the bits of a kernel of its own, and only where nothing else
// reads that result.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { quantizeWeight, toBfloat16, toFloat16, type Attention } from "headwise";
import type { Recorder } from "../../web/src/step/recorder.js";
import { ACTIVATIONS } from "../../web/src/step/stepProblem.js";
import type { StepTensor } from "../../web/src/step/stepTensor.js";

import { bits } from "../web/close.js";
import { randomTensor } from "../web/randomTensor.js";
import { CountedGpu } from "./countedGpu.js";
import { createOnSharedDevice, describeOnGpu } from "./gpu.js";

const OUT = 70;

/** What a product of a step is given to, where a second step is to give it as an output. */
type Keep = (product: StepTensor) => StepTensor;

type Map = (recorder: Recorder, product: StepTensor, other: StepTensor) => StepTensor;

const row = randomTensor(3, [OUT]);
const FUNCTIONS = ACTIVATIONS.map(
  (name): Map =>
    (recorder, product) =>
      recorder.activation(product, name),
);
const SUM: Map = (recorder, product, other) => recorder.add(other, product);
const MAPS: readonly Map[] = [
  ...FUNCTIONS,
  SUM,
  (recorder, product, other) => recorder.add(product, other),
  (recorder, product, other) => recorder.multiply(other, product),
  (recorder, product) => recorder.add(product, row),
  (recorder, product, other) => recorder.activation(product, "silu", other),
  (recorder, product) => recorder.scale(product, 0.3),
  (recorder, product) => recorder.softcap(product, 0.5),
];

/** A weight in every dtype. */
function weights(depth: number) {
  const weight = randomTensor(1, [depth, OUT]);
  const { data, shape } = weight;
  return {
    float32: weight,
    float16: { data: toFloat16(data), shape, dtype: "float16" as const },
    bfloat16: { data: toBfloat16(data), shape, dtype: "bfloat16" as const },
    int8: quantizeWeight(weight),
  };
}

describeOnGpu("A map of a product in a step", () => {
  let hw: Attention;
  let counted: CountedGpu;
  beforeAll(async () => {
    hw = await createOnSharedDevice();
    counted = new CountedGpu();
  });
  afterAll(() => {
    counted.restore();
    hw.dispose();
  });

  /** The results of a step, and the number of its kernels. */
  async function computed(build: (recorder: Recorder) => Readonly<Record<string, StepTensor>>, inputs: object) {
    const step = await hw.record(build);
    let results: Awaited<ReturnType<typeof step.run>> = {};
    const { dispatchWorkgroups: kernels } = await counted.count(async () => {
      results = await step.run(inputs as never);
    });
    step.dispose();
    return { kernels, results };
  }

  /**
   * A step, and one that also gives the products, so that their maps need kernels of their own: they have the same bits.
   *
   * @returns By how many kernels the first one has fewer.
   */
  async function saved(
    build: (recorder: Recorder, keep: Keep) => Readonly<Record<string, StepTensor>>,
    inputs: object,
  ): Promise<number> {
    const joined = await computed((recorder) => build(recorder, (product) => product), inputs);
    const apart = await computed((recorder) => {
      const products: StepTensor[] = [];
      const outputs = build(recorder, (product) => products[products.push(product) - 1]!);
      return { ...outputs, ...Object.fromEntries(products.map((product, n) => [`product${n}`, product])) };
    }, inputs);
    for (const [name, { data }] of Object.entries(joined.results))
      expect([name, bits({ data })]).toEqual([name, bits({ data: apart.results[name]!.data })]);
    return apart.kernels - joined.kernels;
  }

  /** Steps of maps, each of a product of its own. */
  function savedByMaps(maps: readonly Map[], rows: number, depth: number, dtype: keyof ReturnType<typeof weights>) {
    const x = randomTensor(2, [rows, depth]);
    if (rows > 2) x.data[depth] = NaN;
    if (rows > 3) x.data[2 * depth] = Infinity;
    const inputs = { x, wide: randomTensor(5, [rows, OUT + 9]) };
    const weight = weights(depth)[dtype];
    return saved((recorder, keep) => {
      const given = recorder.input("x", [rows, depth]);
      const other = recorder.columns(recorder.input("wide", [rows, OUT + 9]), 4, OUT + 4);
      const all = maps.map(
        (map, n) => [`y${n}`, map(recorder, keep(recorder.linear(given, weight, row)), other)] as const,
      );
      return Object.fromEntries(all);
    }, inputs);
  }

  const KERNELS: readonly (readonly [what: string, rows: number, depth: number])[] = [
    ["one row", 1, 48],
    ["few rows", 11, 48],
    ["few rows of parts", 5, 600],
    ["many rows", 70, 48],
    ["many rows of parts", 20, 600],
  ];

  test.each(KERNELS)("has the bits of a kernel of its own: %s", async (_, rows, depth) => {
    expect(await savedByMaps(MAPS, rows, depth, "float32")).toBe(MAPS.length);
  });

  describe.each(["float16", "bfloat16", "int8"] as const)("of weights of %s", (dtype) => {
    test.each(KERNELS)("has the bits of a kernel of its own: %s", async (_, rows, depth) => {
      expect(await savedByMaps([FUNCTIONS[0]!, SUM], rows, depth, dtype)).toBe(2);
    });
  });

  const weight = randomTensor(1, [8, 12]);
  const x = randomTensor(2, [3, 8]);
  const given = (recorder: Recorder) => recorder.input("x", [3, 8]);

  test("takes what is computed between the product and the map", async () => {
    const build = (recorder: Recorder, keep: Keep) => {
      const product = keep(recorder.linear(given(recorder), weight));
      return { y: recorder.multiply(product, recorder.softmax(recorder.input("z", [3, 12]))) };
    };
    expect(await saved(build, { x, z: randomTensor(4, [3, 12]) })).toBe(1);
  });

  test("of two products is computed by one of them", async () => {
    const build = (recorder: Recorder, keep: Keep) => {
      const all = given(recorder);
      return {
        y: recorder.activation(
          keep(recorder.linear(all, weight)),
          "silu",
          keep(recorder.linear(all, randomTensor(6, [8, 12]))),
        ),
      };
    };
    expect(await saved(build, { x })).toBe(1);
  });

  test("keeps another shape of the same rows", async () => {
    const build = (recorder: Recorder, keep: Keep) => {
      const tokens = recorder.reshape(given(recorder), [1, 3, 8]);
      return { y: recorder.activation(recorder.reshape(keep(recorder.linear(tokens, weight)), [3, 12]), "gelu") };
    };
    expect(await saved(build, { x })).toBe(1);
  });

  type Build = (recorder: Recorder, product: StepTensor, other: StepTensor) => Record<string, StepTensor>;
  test.each<readonly [what: string, build: Build]>([
    ["an output", (recorder, product) => ({ y: recorder.activation(product, "gelu"), product })],
    [
      "read by another part",
      (recorder, product) => ({
        y: recorder.activation(product, "gelu"),
        z: recorder.softmax(product),
      }),
    ],
    [
      "read by two maps",
      (recorder, product) => ({
        y: recorder.activation(product, "gelu"),
        z: recorder.scale(product, 2),
      }),
    ],
    ["read twice by a map", (recorder, product) => ({ y: recorder.multiply(product, product) })],
    ["read in part: rows", (recorder, product) => ({ y: recorder.activation(recorder.tokens(product, 1, 3), "gelu") })],
    [
      "read in part: first rows",
      (recorder, product) => ({
        y: recorder.activation(recorder.tokens(product, 0, 2), "gelu"),
      }),
    ],
    ["read in part: columns", (recorder, product) => ({ y: recorder.scale(recorder.columns(product, 0, 8), 2) })],
    [
      "read in rows of another width",
      (recorder, product) => ({
        y: recorder.add(recorder.reshape(product, [4, 9]), randomTensor(7, [9])),
      }),
    ],
    [
      "a row that repeats",
      (recorder, product, other) => ({
        y: recorder.add(other, recorder.reshape(recorder.tokens(product, 0, 1), [12])),
      }),
    ],
  ])("needs a kernel of its own if the product is %s", async (_, build) => {
    const all = (recorder: Recorder, keep: Keep) =>
      build(recorder, keep(recorder.linear(given(recorder), weight)), recorder.input("other", [3, 12]));
    expect(await saved(all, { x, other: randomTensor(8, [3, 12]) })).toBe(0);
  });

  describe("behind a layer", () => {
    const WIDTH = 16;
    const ofWidth = (width: number) =>
      Object.fromEntries(["Wq", "Wk", "Wv", "Wo"].map((name, n) => [name, randomTensor(10 + n, [width, width])]));

    test.each([
      ["of several heads", WIDTH, { numHeads: 2 }],
      ["of a wide head with a norm", 80, { numHeads: 1, qkNorm: { kind: "rms" } }],
    ] as const)("%s has the bits of a kernel of its own", async (_, width, options) => {
      const layer = await hw.multiHeadAttention({ ...options, weights: ofWidth(width) });
      const build = (recorder: Recorder, keep: Keep) => {
        const all = recorder.input("x", [2, 3, width]);
        return { y: recorder.add(all, keep(recorder.layer(layer, all))) };
      };
      expect(await saved(build, { x: randomTensor(14, [2, 3, width]) })).toBe(1);
    });

    test("saves three kernels in a block of a network", async () => {
      const layer = await hw.multiHeadAttention({ numHeads: 2, weights: ofWidth(WIDTH) });
      const [up, down] = [randomTensor(15, [WIDTH, 40]), randomTensor(16, [40, WIDTH])];
      const build = (recorder: Recorder, keep: Keep) => {
        const all = recorder.input("x", [3, WIDTH]);
        const sum = recorder.add(all, keep(recorder.layer(layer, all)));
        const inner = recorder.activation(keep(recorder.linear(sum, up)), "geluTanh");
        return { y: recorder.add(sum, keep(recorder.linear(inner, down, randomTensor(17, [WIDTH])))) };
      };
      expect(await saved(build, { x: randomTensor(14, [3, WIDTH]) })).toBe(3);
    });

    test("follows new weights of the layer, and its cache", async () => {
      const layer = await hw.multiHeadAttention({ numHeads: 2, weights: ofWidth(WIDTH) });
      const caches = [await layer.kvCache(), await layer.kvCache()];
      const steps = await Promise.all(
        caches.map((cache, n) =>
          hw.record((recorder) => {
            const one = recorder.input("x", [1, WIDTH]);
            const heard = recorder.layer(layer, one, { cache, causal: true });
            return { y: recorder.add(one, heard), ...(n === 1 && { heard }) };
          }),
        ),
      );
      for (let token = 0; token < 4; token++) {
        if (token === 2) await layer.update({ Wo: randomTensor(15, [WIDTH, WIDTH]) });
        const [joined, apart] = await Promise.all(
          steps.map((step) => step.run({ x: randomTensor(20 + token, [1, WIDTH]) })),
        );
        expect(bits(joined!.y)).toEqual(bits(apart!.y));
      }
    });

    test.each([
      ["does not end with a product", { outputProjection: false }],
      ["has another layout", { layout: "BES" }],
    ] as const)("needs a kernel of its own if the layer %s", async (_, options) => {
      const { Wo, ...weights } = ofWidth(WIDTH);
      const given = "layout" in options ? { ...weights, Wo } : weights;
      const layer = await hw.multiHeadAttention({ numHeads: 2, weights: given, ...options });
      const build = (recorder: Recorder, keep: Keep) => {
        const all = recorder.input("x", [2, WIDTH, WIDTH]);
        return { y: recorder.add(all, keep(recorder.layer(layer, all))) };
      };
      expect(await saved(build, { x: randomTensor(14, [2, WIDTH, WIDTH]) })).toBe(0);
    });
  });

  test("joins only the first of two maps after each other", async () => {
    const build = (recorder: Recorder, keep: Keep) => ({
      y: recorder.add(
        recorder.activation(keep(recorder.linear(given(recorder), weight)), "gelu"),
        randomTensor(7, [12]),
      ),
    });
    expect(await saved(build, { x })).toBe(1);
  });
});
