import vm from "node:vm";

import { describe, expect, test } from "@jest/globals";
import type { HeadwiseError } from "headwise";
import * as viz from "headwise/viz";

import { linkSentence, linksOf } from "../../web/src/viz/links.js";
import { readSource, tensorSource, type AttentionSource } from "../../web/src/viz/source.js";
import { hiddenRule } from "../../web/src/viz/visibility.js";
import { sentence, shown } from "../../web/src/viz/words.js";

const floats = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((n, x) => n * x, 1) }, (_, i) => i),
  shape,
});

test("the package imports where there is no document", () => {
  expect("HTMLElement" in globalThis).toBe(false);
  expect(Object.keys(viz).sort()).toEqual(["AttentionHeads", "AttentionMap", "defineElements", "setTexts"]);
});

describe("a tensor as a source", () => {
  test.each([
    [[3, 4], 0, [1, 3, 4], 0],
    [[2, 3, 4], 0, [2, 3, 4], 12],
    [[5, 2, 3, 4], 3, [2, 3, 4], 3 * 24 + 12],
  ])("of shape %j, batch %i", (shape, batch, extents, firstOfLastHead) => {
    const source = tensorSource(floats(...shape), batch);
    expect([source.heads, source.queries, source.keys]).toEqual(extents);
    const rows = source.rows(source.heads - 1, 1, 3) as Float32Array;
    expect([...rows]).toEqual(Array.from({ length: 8 }, (_, i) => firstOfLastHead + 4 + i));
  });

  test("reads the tensor once, and nothing beyond its array", () => {
    const tensor = floats(2, 3);
    Object.defineProperty(tensor.data, "length", { value: 4096 });
    const shape = [...tensor.shape];
    const source = tensorSource({ data: tensor.data, shape });
    shape[0] = 100;
    expect(source.queries).toBe(2);
    expect([...(source.rows(0, 0, 2) as Float32Array)]).toEqual([0, 1, 2, 3, 4, 5]);
    structuredClone(tensor.data.buffer, { transfer: [tensor.data.buffer] });
    expect(() => source.rows(0, 0, 2)).toThrow(/the memory of probs was transferred/);
  });

  test.each([
    [{ heads: 1, queries: -1, keys: 2, rows: () => new Float32Array(2) }, /source\.shape\[1\] must be an integer/],
    [{ heads: 1, queries: 1, keys: 2, rows: 3 }, /source\.rows must be a function, got 3/],
  ])("refuses a source that cannot be one", (source, message) => {
    expect(() => readSource(source as unknown as AttentionSource)).toThrow(message);
  });

  test("says what does not fit", () => {
    expect(() => tensorSource({ data: new Float32Array(5), shape: [2, 3] })).toThrow(
      /probs\.data\.length must be the product of shape \[2, 3\], got 5 and 6/,
    );
    expect(() => tensorSource(floats(4))).toThrow(/probs must be/);
    expect(() => tensorSource({ data: new Uint8Array(6), shape: [2, 3] } as never)).toThrow(
      /probs must be of dtype float32, got bool/,
    );
    expect(() => tensorSource(floats(2, 1, 3, 4), 2)).toThrow(/batch must be one of the 2 sequences of probs, got 2/);
  });
});

describe("the rows of a source", () => {
  const extents = { heads: 2, queries: 4, keys: 3 };
  const answering = (answer: unknown) =>
    readSource({ ...extents, rows: () => answer } as unknown as AttentionSource).rows(1, 2, 4);
  const refusal = async (answer: unknown) => {
    try {
      await answering(answer);
    } catch (error) {
      const { name, message } = error as HeadwiseError;
      return `${name} ${message}`;
    }
    return "none";
  };
  const six = Float32Array.of(1, 2, 3, 4, 5, 6);

  test("are there at once if an array is returned, and awaited if a promise is, or what acts like one", async () => {
    expect(answering(six)).toEqual(six);
    const then = (resolve: (rows: Float32Array) => void) => resolve(six);
    for (const later of [Promise.resolve(six), vm.runInNewContext("Promise.resolve(six)", { six }), { then }]) {
      expect(answering(later)).toBeInstanceOf(Promise);
      expect(await answering(later)).toEqual(six);
    }
  });

  test("are ours: what the source does with its array later changes nothing", async () => {
    const given = six.slice();
    for (const rows of [answering(given), await answering(Promise.resolve(given))] as Float32Array[]) {
      given.fill(7);
      expect([...rows]).toEqual([...six]);
      given.set(six);
    }
    const lying = Object.defineProperty(six.slice(), "length", { value: 4096 });
    expect([...(answering(lying) as Float32Array)]).toEqual([...six]);
    const shared = new Float32Array(new SharedArrayBuffer(24));
    shared.set(six);
    const { buffer } = answering(shared) as Float32Array;
    expect(buffer).not.toBe(shared.buffer);
    expect(Object.prototype.toString.call(buffer)).toBe("[object ArrayBuffer]");
    expect(answering(vm.runInNewContext("Float32Array.of(1, 2, 3, 4, 5, 6)"))).toEqual(six);
  });

  test("must be a Float32Array of as many numbers as were asked for", async () => {
    const rows = "headwise/viz: source.rows(1, 2, 4) must give";
    for (const [answer, what] of [
      [undefined, "undefined"],
      [[1, 2, 3, 4, 5, 6], "[1, 2, 3, 4, 5, 6]"],
      [new Float64Array(6), "a Float64Array of 6"],
      [{ data: six, shape: [2, 3] }, "an object with data, shape"],
      [new Proxy(six, {}), "an object with 0, 1, 2, 3, 4, 5"],
    ] as const) {
      expect(await refusal(answer)).toBe(`OptionError ${rows} a Float32Array, got ${what}`);
      expect(await refusal(Promise.resolve(answer))).toBe(`OptionError ${rows} a Float32Array, got ${what}`);
    }
    for (const length of [0, 5, 7])
      expect(await refusal(new Float32Array(length))).toBe(
        `ShapeError ${rows} (to − from) × keys = 2 × 3 numbers, got ${length}`,
      );
    const gone = six.slice();
    structuredClone(gone.buffer, { transfer: [gone.buffer] });
    expect(await refusal(gone)).toMatch(/^OptionError .*the memory of source\.rows\(1, 2, 4\) was transferred/);
  });

  test("fail as the source fails", async () => {
    const error = new Error("device lost");
    const fails = (rows: () => unknown) => readSource({ ...extents, rows } as unknown as AttentionSource);
    const throws = () => {
      throw error;
    };
    expect(() => fails(throws).rows(0, 0, 1)).toThrow(error);
    await expect(fails(() => Promise.reject(error)).rows(0, 0, 1)).rejects.toBe(error);
    await expect(fails(() => Object.defineProperty({}, "then", { get: throws })).rows(0, 0, 1)).rejects.toBe(error);
  });

  test.each([null, 3, "rows", () => new Float32Array(6)])("a source must be an object, not %p", (source) => {
    expect(() => readSource(source as never)).toThrow(/^headwise\/viz: source must be an object/);
  });
});

describe("what is hidden", () => {
  const extents = { heads: 2, queries: 2, keys: 4 };
  const nothing = { causal: false, mask: undefined, isHidden: undefined };
  const picture = (rule: ReturnType<typeof hiddenRule>, head = 0) =>
    [0, 1].map((query) => [0, 1, 2, 3].map((key) => (rule?.(query, key, head) ? "×" : "·")).join("")).join(" ");

  test("nothing, if nothing is said", () => {
    expect(hiddenRule(nothing, extents)).toBeUndefined();
  });
  test("causal: lower right", () => {
    expect(picture(hiddenRule({ ...nothing, causal: true }, extents))).toBe("···× ····");
  });
  test("a mask broadcasts from the right: rows, keys, heads, sequences", () => {
    const mask = (bits: string, ...shape: number[]) => ({ data: Uint8Array.from(bits, Number), shape });
    const masked = (tensor: ReturnType<typeof mask>, head = 0, batch = 0) =>
      picture(hiddenRule({ ...nothing, mask: tensor }, extents, batch), head);
    expect(masked(mask("1010", 4))).toBe("·×·× ·×·×");
    expect(masked(mask("10", 2, 1))).toBe("···· ××××");
    expect(masked(mask("10", 2, 1, 1), 1)).toBe("×××× ××××");
    expect(masked(mask("11110000", 2, 1, 1, 4), 0, 1)).toBe("×××× ××××");
    expect(() => masked(mask("111", 3))).toThrow(/mask must broadcast to \[2, 2, 4\], got shape \[3\]/);
  });
  test("whatever a rule of the page answers is true or false", () => {
    const answers = [1, "", {}, null, 0, "x", true, undefined];
    const isHidden = ((query: number, key: number) => answers[4 * query + key]) as never;
    for (const causal of [false, true]) {
      const rule = hiddenRule({ ...nothing, causal, isHidden }, extents)!;
      expect(answers.map((_, at) => rule(Math.floor(at / 4), at % 4, 0))).toEqual(
        answers.map((answer, at) => Boolean(answer) || (causal && at === 3)),
      );
    }
  });
  test("all rules together", () => {
    const isHidden = (query: number, key: number, head: number) => head === 1 && key === 0;
    const rule = hiddenRule({ ...nothing, causal: true, isHidden }, extents);
    expect([picture(rule, 0), picture(rule, 1)]).toEqual(["···× ····", "×··× ×···"]);
  });
});

describe("a cell in words", () => {
  const tokens = { queries: ["it", "was"], keys: [] };
  const reading = { head: 0, query: 0, key: 3, value: 0.123456, hidden: false, locked: false };
  test.each([
    [reading, "probs", "“it” gives 12.35\u00a0% of its attention to key 3."],
    [{ ...reading, value: 1e-9 }, "probs", "“it” gives less than 0.0001\u00a0% of its attention to key 3."],
    [{ ...reading, value: -2.5 }, "scores", "“it” scores key 3 with −2.5."],
    [{ ...reading, value: -3.5e-8 }, "scores", "“it” scores key 3 with −3.5e−8."],
    [{ ...reading, hidden: true }, "probs", "“it” may not attend to key 3."],
    [{ ...reading, value: undefined }, "probs", "“it” and key 3: being computed."],
    [{ ...reading, value: NaN }, "probs", "“it” and key 3: not a number."],
    [{ ...reading, value: NaN }, "scores", "“it” and key 3: not a number."],
    [{ ...reading, value: Infinity }, "probs", "“it” gives ∞\u00a0% of its attention to key 3."],
    [{ ...reading, value: -Infinity }, "scores", "“it” scores key 3 with −∞."],
  ] as const)("%#", (cell, kind, words) => {
    expect(sentence(cell, kind, tokens)).toBe(words);
  });

  test("names a token without a letter", () => {
    const named = (queries: readonly string[]) => sentence({ ...reading, query: 0 }, "scores", { queries, keys: [] });
    expect(named([""])).toMatch(/^empty token scores key 3 with/);
    expect(named(["שלום", "a"])).toMatch(/^“\u2068שלום\u2069” scores key 3 with/); // isolates: numbers stay in their place
    expect(named(["", ""])).toMatch(/^empty token \(0\) scores key 3 with/);
  });

  test("of the tooltip says of NaN that it is not a number", () => {
    expect(shown({ ...reading, value: NaN }, "probs")).toBe("not a number");
    expect(shown({ ...reading, value: NaN }, "scores")).toBe("not a number");
    expect(shown({ ...reading, value: Infinity }, "scores")).toBe("∞");
  });
});

describe("links", () => {
  const data = tensorSource({
    data: Float32Array.of(1, 0, 0, 0.7, 0.3, 0, 0.2, 0.2, 0.6, 1, 0, 0, 0.1, 0.9, 0, 0.5, 0.25, 0.25),
    shape: [2, 3, 3],
  });
  const rowOf = (head: number, query: number) => data.rows(head, query, query + 1) as Float32Array;
  const all = { heads: [0, 1], queries: { from: 0, to: 3 }, threshold: 0.05, rule: undefined };
  const none = { queries: [], keys: [] };
  const tokens = { queries: ["a", "b", "c"], keys: ["a", "b", "c"] };

  test("are those above the threshold, weakest first", () => {
    const links = linksOf(rowOf, { ...all, selection: none, threshold: 0.25 });
    expect(links.map(({ weight }) => weight)).toEqual([...Float32Array.of(0.25, 0.25, 0.3, 0.5, 0.6, 0.7, 0.9, 1, 1)]);
  });
  test("of selected tokens alone, on either side or between both", () => {
    const ends = (selection: Parameters<typeof linkSentence>[1]) =>
      linksOf(rowOf, { ...all, selection }).map(({ head, query, key }) => `${head}:${query}${key}`);
    expect(ends({ queries: [1], keys: [] })).toEqual(["1:10", "0:11", "0:10", "1:11"]);
    expect(ends({ queries: [], keys: [2] })).toEqual(["1:22", "0:22"]);
    expect(ends({ queries: [1, 2], keys: [1] })).toEqual(["0:21", "1:21", "0:11", "1:11"]);
  });
  test("never run to hidden keys, of heads that are off, or from rows that are not here", () => {
    const rule = (query: number, key: number) => key === 0;
    expect(linksOf(rowOf, { ...all, selection: none, rule }).every(({ key }) => key > 0)).toBe(true);
    expect(linksOf(rowOf, { ...all, selection: none, heads: [1] }).every(({ head }) => head === 1)).toBe(true);
    expect(linksOf(() => undefined, { ...all, selection: none })).toEqual([]);
  });
  test("are told in words, strongest first", () => {
    const told = (selection: Parameters<typeof linkSentence>[1]) =>
      linkSentence(linksOf(rowOf, { ...all, selection }), selection, tokens, (head) => `head ${head}`);
    expect(told({ queries: [1], keys: [] })).toBe(
      "Strongest links of “b”: to “b” 90\u00a0% (head 1), to “a” 70\u00a0% (head 0), to “b” 30\u00a0% (head 0).",
    );
    expect(told({ queries: [], keys: [2] })).toBe(
      "Strongest links to “c”: from “c” 60\u00a0% (head 0), from “c” 25\u00a0% (head 1).",
    );
    const twice = { queries: ["a", "b", "a"], keys: ["a", "b", "a"] };
    expect(linkSentence([{ head: 0, query: 2, key: 1, weight: 0.5 }], none, twice, () => "it")).toBe(
      "Strongest links: from “a” (2) to “b” 50\u00a0% (it).",
    );
    expect(told({ queries: [0], keys: [2] })).toBe("No link is stronger than the threshold.");
  });
});
