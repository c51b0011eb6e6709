import { expect, test } from "@jest/globals";

import { headsPicture } from "../../web/demo/cli/picture.js";

const layer = (probs: readonly number[]) => ({
  numHeads: 1,
  probs: Float32Array.from(probs),
  scores: new Float32Array(4),
});
const encoding = {
  text: "<&>",
  tokens: ["▁<&>", "▁b"],
  unknown: [],
  tokensLeftOut: 0,
  embedding: new Float32Array(512),
  layers: [layer([0.5, 0.5, 0, 1]), layer([1, 0, 0.5, 0.5])],
};

test("the picture has a square to every pair of tokens in every head, coloured from 0 to the strongest link", () => {
  const picture = headsPicture(encoding);
  const fills = [...picture.matchAll(/<path fill="(#[0-9a-f]{6})" d="M(\d) (\d)h/g)].map(([, fill, to, from]) => [
    fill,
    from,
    to,
  ]);
  const [none, half, all] = ["#440154", "#21918c", "#fde725"];
  expect(fills).toEqual([
    [half, "0", "0"],
    [half, "0", "1"],
    [none, "1", "0"],
    [all, "1", "1"],
    [all, "0", "0"],
    [none, "0", "1"],
    [half, "1", "0"],
    [half, "1", "1"],
  ]);
  expect(picture.match(/layer \d head \d/g)).toEqual(["layer 1 head 1", "layer 2 head 1"]);
});

test("text is escaped", () => {
  const picture = headsPicture(encoding);
  expect(picture).toContain("<title>What each head attends to in “&#60;&#38;&#62;”</title>");
  expect(picture).not.toContain("<&>");
});

test("control characters, which XML forbids, are replaced", () => {
  const picture = headsPicture({ ...encoding, text: "a\u0001\u001b[1m", tokens: ["▁a\u0001", "\u001b[1m"] });
  expect(picture).toContain("<title>What each head attends to in “a��[1m”</title>");
  expect(picture).not.toMatch(/[^\P{C}\n]/u);
});
