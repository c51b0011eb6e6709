// headwise/react without a page: how inputs are compared, how an instance is shared, and what a server renders. What
// components do in a page: tests/browser/react.test.ts.

import { readFileSync } from "node:fs";

import { describe, expect, jest, test } from "@jest/globals";
import { createElement } from "react";
import { renderToString } from "react-dom/server";

import { DisposedError, HeadwiseError, ShapeError, tensor, type Attention } from "headwise";
import { AttentionHeads, AttentionMap, AttentionProvider, useAttention } from "headwise/react";

import { attributesOf } from "../../web/src/react/elementComponent.js";
import { sameValue } from "../../web/src/react/sameValue.js";
import { SharedInstance } from "../../web/src/react/sharedInstance.js";

describe("two inputs are equal", () => {
  class Box {
    constructor(readonly held: number) {}
  }
  const box = new Box(1);
  const rule = () => true;
  const equal: readonly (readonly [name: string, a: unknown, b: unknown])[] = [
    ["if their numbers are, in other arrays", tensor([[1, NaN]]), tensor([[1, NaN]])],
    [
      "if their options are, in another order",
      { causal: true, window: { left: 1 } },
      { window: { left: 1 }, causal: true },
    ],
    ["if what one lacks is undefined in the other", { causal: true, mask: undefined }, { causal: true }],
    ["if their lists are", { returns: { probs: { heads: [0, 2] } } }, { returns: { probs: { heads: [0, 2] } } }],
    ["if they hold the same instance of a class", { score: box }, { score: box }],
    ["if they hold the same function", { isHidden: rule }, { isHidden: rule }],
    ["if they are detached arrays", detached(), detached()],
  ];
  test.each(equal)("%s", (_, a, b) => expect([sameValue(a, b), sameValue(b, a)]).toEqual([true, true]));
});

describe("two inputs differ", () => {
  const different: readonly (readonly [name: string, a: unknown, b: unknown])[] = [
    ["if a number differs", tensor([[1, 2]]), tensor([[1, 3]])],
    ["if the shapes of the same numbers differ", tensor([1, 2], [1, 2]), tensor([1, 2], [2, 1])],
    ["if one has float16 and the other the integers of its bits", Uint16Array.of(1), Int32Array.of(1)],
    ["if one list is longer", [1, 2], [1, 2, 3]],
    ["if one is a list and the other an object", [], {}],
    ["if one is null", null, {}],
    ["if only one has an option", { causal: true }, { causal: true, scale: 1 }],
    ["if they hold two instances of a class", new Map([[1, 1]]), new Map([[1, 1]])],
    ["if they hold two functions", () => true, () => true],
  ];
  test.each(different)("%s", (_, a, b) => expect([sameValue(a, b), sameValue(b, a)]).toEqual([false, false]));
});

function detached(): Float32Array {
  const array = new Float32Array(4);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

test('a flag that is false is no attribute: React 18 would write hidden="false", which hides', () => {
  const given = { hidden: false, inert: true, draggable: false, "aria-busy": false, className: "wide", head: 1 };
  const attributes = { inert: true, draggable: false, "aria-busy": false, class: "wide" };
  expect(attributesOf(given, new Set(["head"]))).toEqual(attributes);
});

describe("a shared instance", () => {
  /** What makes instances, and remembers them. */
  function making() {
    const made: { disposed: number }[] = [];
    const create = () => {
      const instance = { disposed: 0, dispose: () => void ++instance.disposed };
      made.push(instance);
      return Promise.resolve(instance as unknown as Attention);
    };
    return { made, create };
  }
  const answer = () => Promise.resolve(1);

  test("is made by the first call, not by a user", async () => {
    const { made, create } = making();
    const shared = new SharedInstance(create);
    shared.use();
    expect(made).toHaveLength(0);
    await Promise.all([shared.run(answer), shared.run(answer)]);
    expect(made).toHaveLength(1);
  });

  test("is disposed a second after its last user has left, and made again for the next call", async () => {
    jest.useFakeTimers();
    const { made, create } = making();
    const shared = new SharedInstance(create);
    const [leave, leaveToo] = [shared.use(), shared.use()];
    await shared.run(answer);
    leave();
    await jest.advanceTimersByTimeAsync(5000);
    expect(made).toEqual([expect.objectContaining({ disposed: 0 })]);
    leaveToo();
    await jest.advanceTimersByTimeAsync(999);
    expect(made[0]!.disposed).toBe(0);
    await jest.advanceTimersByTimeAsync(1);
    expect(made[0]!.disposed).toBe(1);
    await shared.run(answer);
    expect(made).toHaveLength(2);
    jest.useRealTimers();
  });

  test("stays if a new user comes within the second", async () => {
    jest.useFakeTimers();
    const { made, create } = making();
    const shared = new SharedInstance(create);
    const leave = shared.use();
    await shared.run(answer);
    leave();
    await jest.advanceTimersByTimeAsync(500);
    shared.use();
    await jest.advanceTimersByTimeAsync(5000);
    expect(made).toEqual([expect.objectContaining({ disposed: 0 })]);
    jest.useRealTimers();
  });

  test("that could not be made is made anew for the next call", async () => {
    const { made, create } = making();
    let fails = true;
    const shared = new SharedInstance(() => {
      if (fails) throw new Error("no network");
      return create();
    });
    await expect(shared.run(answer)).rejects.toThrow("no network");
    fails = false;
    expect(await shared.run(answer)).toBe(1);
    expect(made).toHaveLength(1);
  });

  test.each([
    ["a function that gives none", () => undefined, "what create gives must be an instance, got undefined"],
    ["a promise of one", Promise.resolve(), "create must be a function, got a Promise"],
  ])("must come from a function: %s is refused, also when the last user leaves", async (_, create, message) => {
    jest.useFakeTimers();
    const shared = new SharedInstance(create as never);
    const leave = shared.use();
    await expect(shared.run(answer)).rejects.toMatchObject({ message: `AttentionProvider: ${message}` });
    leave();
    await jest.advanceTimersByTimeAsync(5000); // a rejection that nobody hears would fail this test
    jest.useRealTimers();
  });

  test("is replaced after an error that ends an instance, once, and stays after every other", async () => {
    const { made, create } = making();
    const shared = new SharedInstance(create);
    const failing = (error: Error) => expect(shared.run(() => Promise.reject(error))).rejects.toBe(error);
    await failing(new ShapeError("wrong"));
    expect(made).toHaveLength(1);
    await Promise.all([failing(new DisposedError("gone")), failing(new HeadwiseError("trapped"))]);
    expect(made.map(({ disposed }) => disposed)).toEqual([1]);
    await shared.run(answer);
    expect(made).toHaveLength(2);
  });
});

describe("on a server", () => {
  const x = tensor([[1, 0]]);

  test("a component with everything gives an empty element with its attributes, loads nothing, and warns of nothing", () => {
    const create = jest.fn<() => Promise<Attention>>();
    const complaint = jest.spyOn(console, "error").mockReturnValue(undefined);
    const Page = () => {
      const { data, error, isLoading, isComputing } = useAttention(x, x, x, { returns: { probs: true } });
      const state = JSON.stringify({ data, error, isLoading, isComputing });
      const map = createElement(AttentionMap, {
        probs: data?.probs,
        tokens: ["a"],
        className: "wide",
        onSlices: () => 0,
      });
      return createElement("main", { title: state }, map, createElement(AttentionHeads, { id: "links" }));
    };
    const html = renderToString(createElement(AttentionProvider, { create }, createElement(Page)));
    expect(html.replaceAll("&quot;", '"')).toBe(
      '<main title="{"isLoading":true,"isComputing":true}">' +
        '<attention-map class="wide"></attention-map><attention-heads id="links"></attention-heads></main>',
    );
    expect(create).not.toHaveBeenCalled();
    expect(complaint).not.toHaveBeenCalled();
    complaint.mockRestore();
  });
});

test("the entry holds nothing of React, and tells frameworks that it is for the client", () => {
  for (const file of ["react.js", "react.cjs"]) {
    const { inputs } = JSON.parse(readFileSync(`build/metafiles/${file}.json`, "utf8")) as { inputs: object };
    expect(Object.keys(inputs).filter((input) => !input.startsWith("web/src/"))).toEqual([]);
    expect(readFileSync(`dist/${file}`, "utf8")).toMatch(/^("use strict";\n)?"use client";/);
  }
});
