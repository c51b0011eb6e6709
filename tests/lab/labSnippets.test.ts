import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import { expect, test } from "@jest/globals";

import { snippet as device } from "../../web/demo/lab/rooms/device/snippet.js";
import { snippet as flash } from "../../web/demo/lab/rooms/flash/snippet.js";
import { fields as generateFields } from "../../web/demo/lab/rooms/generate/settings.js";
import { snippet as generate } from "../../web/demo/lab/rooms/generate/snippet.js";
import { snippet as lesson } from "../../web/demo/lab/rooms/lesson/snippet.js";
import { RECIPES } from "../../web/demo/lab/rooms/masks/recipes.js";
import { fields as maskFields } from "../../web/demo/lab/rooms/masks/settings.js";
import { snippet as masks } from "../../web/demo/lab/rooms/masks/snippet.js";
import { fields as matrixFields, inputsOf } from "../../web/demo/lab/rooms/matrix/settings.js";
import { snippet as matrix } from "../../web/demo/lab/rooms/matrix/snippet.js";
import { snippet as positions } from "../../web/demo/lab/rooms/positions/snippet.js";
import { snippet as sentence } from "../../web/demo/lab/rooms/sentence/snippet.js";
import { fields as tensorFields } from "../../web/demo/lab/rooms/tensors/problem.js";
import { snippet as tensors } from "../../web/demo/lab/rooms/tensors/snippet.js";
import { fields as trainFields } from "../../web/demo/lab/rooms/train/settings.js";
import { snippet as train } from "../../web/demo/lab/rooms/train/snippet.js";
import { type Fields, type Values } from "../../web/demo/lab/shell/field.js";
import { State } from "../../web/demo/lab/shell/state.js";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const settings = <F extends Fields>(fields: F, query = ""): Values<F> =>
  new State(fields, new URLSearchParams(query)).values;

const CODES: readonly (readonly [string, string, RegExp])[] = [
  ["lesson", lesson(), /\[ 1, 4, 10, 64 \] \[ 1, 4, 10, 64 \] 2560/],
  ["sentence", sentence([1, 0, 1, 1, 1, 1, 1, 1], [3]), /\[ 1, 10, 256 \] \[ 1, 4, 10, 10 \]/],
  ["positions: none", positions({ kind: "none", base: 1e4 }, 5, 3), /\[ 5, 5 \]/],
  ["positions: learned", positions({ kind: "learned", base: 1e4 }, 5, 3), /\[ 5, 5 \]/],
  ["positions: sinusoidal", positions({ kind: "sinusoidal", base: 1e4 }, 5, 3), /\[ 5, 5 \]/],
  ["positions: rotary", positions({ kind: "rotary", base: 500.5 }, 5, 3), /\[ 5, 5 \]/],
  ["matrix", matrix(inputsOf(settings(matrixFields)), "rows"), /\[ 1, 5, 7 \][^]*\[ 1, 2, 5, 5 \]/],
  [
    "matrix: columns",
    matrix(inputsOf(settings(matrixFields, "causal=true&scale=false&excludeSelf=true&valueDim=1")), "columns"),
    /\[ 1, 7, 5 \][^]*\[ 1, 2, 5, 5 \]/,
  ],
  ["flash", flash(2 ** 17, true), /\[ 4096, 64 \] \[ 4096 \]/],
  ["masks", masks(settings(maskFields)), /\[ 1, 8, 24, 24 \]/],
  [
    "masks: everything",
    masks(
      settings(
        maskFields,
        "left=3&keyLength=20&excludeSelf=true&alibi=true&softcap=20&sink=1&kvHeads=2&emptyRows=nan&sharpness=2",
      ),
    ),
    /\[ 1, 8, 24, 24 \]/,
  ],
  ...["Packed documents", "T5 buckets"].map(
    (name) => [`masks: ${name}`, masks(RECIPES[name]!.rules), /\[ 1, 2, 24, 24 \]/] as const,
  ),
  [
    "masks: a formula that is wrong",
    masks(settings(maskFields, "rules=formulas&visible=k+%3C%3D&score=s")),
    /\[ 1, 8, 24, 24 \]/,
  ],
  ...["rotary", "learned", "none"].map(
    (position) =>
      [
        `train: ${position}`,
        train(settings(trainFields, `position=${position}&width=32&heads=2`), 2),
        /^step 1: 4\.\d+ nats/,
      ] as const,
  ),
  ["generate", generate(settings(generateFields)), /117 tokens/],
  ["generate: a ring of int8", generate(settings(generateFields, "ring=sinks&dtype=int8&window=32")), /36 tokens/],
  ["device", device(), /GFLOP\/s/],
  ...["BHSD", "BSHD", "BSE", "BES"].map(
    (layout) =>
      [
        `tensors: ${layout}`,
        tensors(settings(tensorFields, `mode=attention&scale=2&layout=${layout}`)),
        /\[ 1, 4, 20, 20 \]/,
      ] as const,
  ),
  [
    "tensors: model",
    tensors(settings(tensorFields, "mode=model")),
    /^(layer \d head \d: \w+ [\d.]+\n)*next token: \d+ before, \d+ now/,
  ],
  [
    "tensors: model with changes",
    tensors(
      settings(tensorFields, "mode=model&threshold=0.1&changes=1.2:off,2.1:mean,2.6:first,3.1:previous,3.2:first"),
    ),
    /layer 1 head 1: \w+ 0\.\d\d[^]*next token: \d+ before, \d+ now/,
  ],
  ["tensors: layer", tensors(settings(tensorFields, "mode=layer&causal=true")), /\[ 1, 20, 64 \] \[ 1, 4, 20, 20 \]/],
];

test.each(CODES)("the code of %s runs as it is copied", (_, code, printed) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: ROOT,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  expect(stdout).toMatch(printed);
});

test("the code of own tensors has their scale", () => {
  expect(tensors(settings(tensorFields, "mode=attention&scale=2"))).toContain("  scale: 2 / Math.sqrt(16),\n");
  expect(tensors(settings(tensorFields, "mode=attention"))).not.toContain("scale:");
});
