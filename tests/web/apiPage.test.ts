// web/docs/api.md has every export of every entry in one line, and nothing else.

import { readFileSync } from "node:fs";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createAttention, tensor, type Attention, type Recorder } from "headwise";

const page = readFileSync("web/docs/api.md", "utf8");

/** The names in the rows of a section, without what stands before a dot and without arguments. */
function namesUnder(heading: string): string[] {
  const section = page.split(/^#+ /m).find((text) => text.startsWith(`${heading}\n`))!;
  return [...section.matchAll(/^\| `(?:hw\.gpu\.|hw\.|layer\.|cache\.|recorder\.|step\.)?(\w+)/gm)].map(
    ([, name]) => name!,
  );
}

describe("the page of the API has every export of", () => {
  test.each(["headwise", "formula", "inspect", "train", "models", "onnx", "viz", "react"])("%s", async (entry) => {
    const name = entry === "headwise" ? entry : `headwise/${entry}`;
    const exported = Object.keys((await import(name)) as object).filter((key) => key !== "default");
    expect(namesUnder(name).sort()).toEqual(exported.sort());
  });

  test.each(["worker", "inline", "webgpu"])("%s: those of headwise", async (entry) => {
    const exported = Object.keys((await import(`headwise/${entry}`)) as object).filter((key) => key !== "default");
    expect(exported.sort()).toEqual(namesUnder("headwise").sort());
  });
});

describe("the page of the API has every member of", () => {
  let hw: Attention;
  beforeAll(async () => (hw = await createAttention({ backend: "wasm", threads: 1 })));
  afterAll(() => hw.dispose());

  /** Members of classes that are marked as internal, or name what was renamed. */
  const INTERNAL =
    /^(between|locate|afterCalls|stepPlace|recordsInPlace|expectProducts|recorded|close|device|kernelTimes|upload|uploadWeight|download|encode\w*|prepare|loadCache)$/;
  const publicMembers = (object: object) =>
    [...Object.getOwnPropertyNames(Object.getPrototypeOf(object)), ...Object.keys(object)].filter(
      (name) => name !== "constructor" && !INTERNAL.test(name),
    );

  test("an instance", () => {
    expect(namesUnder("An instance").sort()).toEqual(publicMembers(hw).sort());
  });

  test("a layer", async () => {
    const weight = tensor([[1]]);
    const weights = { Wq: weight, Wk: weight, Wv: weight, Wo: weight };
    const layer = await hw.multiHeadAttention({ numHeads: 1, weights });
    expect(namesUnder("A layer").sort()).toEqual(publicMembers(layer).sort());
  });

  test("a recorder and a step", async () => {
    let recorder!: Recorder;
    const step = await hw.record((given) => {
      recorder = given;
      return { y: given.input("x", [1]) };
    });
    const members = [...publicMembers(recorder), ...publicMembers(step)];
    expect(namesUnder("A recorder and a step").sort()).toEqual(members.sort());
  });

  test("a cache", async () => {
    const cache = await hw.kvCache({ numKvHeads: 1, headDim: 1 });
    expect(namesUnder("A cache").sort()).toEqual(publicMembers(cache).sort());
  });
});
