import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, HeadwiseError, type Attention } from "headwise";

import type { Engine } from "../../web/demo/lab/engine/engine.js";
import { compute, extents } from "../../web/demo/lab/rooms/tensors/compute.js";
import { EXAMPLE } from "../../web/demo/lab/rooms/tensors/example.js";
import { openFiles } from "../../web/demo/lab/rooms/tensors/files/open.js";
import { writeNpy } from "../../web/demo/lab/rooms/tensors/files/npy.js";
import { attentionCall, fields, layerCall } from "../../web/demo/lab/rooms/tensors/problem.js";
import { assign, ATTENTION_ROLES, LAYER_ROLES } from "../../web/demo/lab/rooms/tensors/roles.js";
import {
  extremes,
  finding,
  mapWords,
  nothing,
  outputWords,
  randomWords,
} from "../../web/demo/lab/rooms/tensors/words.js";
import { faults, numbersIn, settingsGrid } from "./labGrid.js";
import { safetensors } from "../web/safetensorsFile.js";

let hw: Attention;
let engine: Engine;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", threads: 1 });
  engine = {
    scaledDotProductAttention: hw.scaledDotProductAttention.bind(hw),
    async forward(options: Parameters<Attention["multiHeadAttention"]>[0], x: never, call: never) {
      const layer = await hw.multiHeadAttention(options);
      try {
        return await layer.forward(x, call);
      } finally {
        layer.dispose();
      }
    },
  } as unknown as Engine;
});
afterAll(() => hw.dispose());

test("every sentence is true in every setting that the example allows", async () => {
  let drawn = 0;
  for (const settings of settingsGrid(fields, ["mode", "layout", "heads", "kvHeads", "stored"]))
    for (const isExample of [true, false])
      for (const hasTokens of [true, false]) {
        const roles = settings.mode === "layer" ? LAYER_ROLES : ATTENTION_ROLES;
        const assigned = assign(roles, EXAMPLE, new Map(hasTokens ? [] : [["x", ""]]));
        const call = settings.mode === "layer" ? layerCall(assigned, settings) : attentionCall(assigned, settings);
        const result = await compute(engine, call).catch((error: unknown) => {
          if (!HeadwiseError.is(error)) throw error;
        });
        if (!result) continue;
        drawn++;
        const shape = result.probs!.shape;
        const [batches, heads, queries, keys] = [shape.at(-4) ?? 1, shape.at(-3) ?? 1, shape.at(-2)!, shape.at(-1)!];
        expect(extents(call)).toEqual({ batches, heads, queries, keys });
        const inputs = roles.flatMap(({ id, label }) =>
          assigned.has(id) ? [[label, assigned.get(id)!.name] as const] : [],
        );
        const randomTokens = call.kind === "layer" && !hasTokens ? queries : 0;
        const shown = { ...extents(call), isExample, inputs, randomTokens };
        const said = finding(shown);
        const sizes = numbersIn(said.split(/[;.]/)[0]!);
        expect(sizes).toEqual([heads, queries, keys]);
        expect(said.includes("random")).toBe(isExample || randomTokens > 0);
        const note = randomWords(shown);
        expect([note.includes("tensors"), note.includes("tokens X")]).toEqual([isExample, randomTokens > 0]);
        if (!isExample) for (const [role, name] of inputs) expect(said).toContain(`${role} is ${name}`);
        if (!isExample && randomTokens > 0) expect(said).toContain(`X is ${randomTokens} random tokens`);
        expect([said, outputWords(result.output)].flatMap(faults)).toEqual([]);
        const data = [...result.output.data];
        const [low, high] = numbersIn(outputWords(result.output)).slice(-2);
        const lowest = Math.min(...data);
        const highest = Math.max(...data);
        expect(Math.abs(low! - lowest)).toBeLessThanOrEqual(0.005 * Math.abs(lowest));
        expect(Math.abs(high! - highest)).toBeLessThanOrEqual(0.005 * Math.abs(highest));
        expect(mapWords(shown, true, true)).toBe(batches > 1 ? `The map shows batch 0 of ${batches}.` : "");
      }
  expect(drawn).toBeGreaterThan(50);
});

describe("the smallest and the largest number", () => {
  test("are those of all numbers, also where a sample of 10,000 would miss them", () => {
    const data = new Float32Array(1_000_003);
    data[17] = -3;
    data[999_999] = 4;
    expect(extremes(data)).toEqual({ low: -3, high: 4, finite: 1_000_003 });
    expect(outputWords({ shape: [1_000_003], data })).toBe("Output [1000003]: 1,000,003 numbers from −3 to 4.");
  });

  test("leave out what is not finite, and say so", () => {
    const words = (...data: number[]) => outputWords({ shape: [data.length], data: Float32Array.from(data) });
    expect(words(NaN, 1, -0.5)).toBe("Output [3]: 3 numbers from −0.5 to 1; 1 of them is not finite.");
    expect(words(Infinity, NaN, 0.00001, 2e9)).toBe("Output [4]: 4 numbers from 1 · 10⁻⁵ to 2 · 10⁹; 2 of them are not finite."); // oxfmt-ignore
    expect(words(NaN)).toBe("Output [1]: 1 number, and none is finite.");
  });
});

test("what is not shown is said, with the reason", () => {
  expect(nothing(ATTENTION_ROLES, 0)).toBe("Nothing is shown: no file could be read.");
  expect(nothing(ATTENTION_ROLES.slice(1), 2)).toBe("Nothing is shown yet: no tensor is chosen for Key and Value.");
  const many = { isExample: false, inputs: [], randomTokens: 0, batches: 2, heads: 8, queries: 4096, keys: 4096 };
  expect(mapWords(many, false, true)).toMatch(/^The map shows batch 0 of 2\. There are 268,435,456 weights: /);
  expect(mapWords(many, false, false)).toMatch(/^The 268,435,456 weights of this layer are too many/);
});

describe("several files", () => {
  const npy = (name: string) => new File([writeNpy([2, 2], Float32Array.of(1, 2, 3, 4))], name);

  test("one that fails does not lose the others, and is named with the rule that it breaks", async () => {
    const { entries, failures } = await openFiles([npy("a.npy"), new File(["no"], "b.npy"), new File(["x"], "c.txt"), npy("d.npy")]); // oxfmt-ignore
    expect(entries.map(({ name }) => name)).toEqual(["a", "d"]);
    expect(failures).toEqual([
      "b.npy is no .npy file: it does not begin with “\\x93NUMPY”.",
      "c.txt is neither .npy nor .safetensors.",
    ]);
  });

  test("a tensor that cannot be read later names its file too", async () => {
    const file = safetensors({ w: { dtype: "F8_E4M3", shape: [1], bytes: Uint8Array.of(0) } });
    const { entries } = await openFiles([new File([file.slice()], "m.safetensors")]);
    expect(() => entries[0]!.read()).toThrow(/^m\.safetensors holds “w” as F8_E4M3; this page reads F16, BF16/);
  });

  const header = (text: string) => {
    const bytes = new TextEncoder().encode(text);
    return new File([Uint8Array.from([bytes.length, 0, 0, 0, 0, 0, 0, 0]), bytes], "h.safetensors");
  };
  test.each([
    ["null", /its header is no list of tensors/],
    ["[1]", /its header is no list of tensors/],
    ['{"a":null}', /“a” without a type or a shape/],
    ['{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}', /“a” without a type or a shape/],
    ['{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', /the numbers of “a” lie outside the file/],
    ['{"a":{"dtype":"F32","shape":[1]}}', /the numbers of “a” lie outside the file/],
  ])("a damaged header is refused in words: %s", async (text, words) => {
    expect((await openFiles([header(text)])).failures).toEqual([expect.stringMatching(words)]);
  });

  test.each([8, 11, 40])("a .npy file that ends after %i bytes is refused in words", async (length) => {
    const whole = writeNpy([2], Float32Array.of(1, 2));
    expect((await openFiles([new File([whole.slice(0, length)], "short.npy")])).failures).toEqual([
      expect.stringMatching(/^short\.npy is cut short: its header/),
    ]);
  });
});
