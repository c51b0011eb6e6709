// The program of web/docs/interventions.md that finds the induction heads of a model of the lab, and switches them off.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { expect, test } from "@jest/globals";
import { createAttention } from "headwise";
import { saveSafetensors } from "headwise/train";

import { createTrainer, USUAL_SETTINGS } from "../../web/demo/train/trainer.js";
import { WAIT_MILLISECONDS } from "../hangLimits.mjs";

const SETTINGS = {
  ...USUAL_SETTINGS,
  width: 32,
  heads: 2,
  tokens: 24,
  vocabulary: 24,
  batch: 16,
  learningRate: 0.005,
};

test("the induction heads of a trained model are found, and copying is lost without them", async () => {
  const hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
  const trainer = await createTrainer(hw, SETTINGS);
  for (let step = 0; step < 450; step++) await trainer.step();
  const folder = path.resolve("build/readme");
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "trained.safetensors"), saveSafetensors(trainer.parameters));
  trainer.dispose();
  hw.dispose();

  const [, program] = /^```js induction\.mjs\n([^]*?)^```$/m.exec(readFileSync("web/docs/interventions.md", "utf8"))!;
  expect(program!.split("\n").filter((line) => line.trim()).length).toBeLessThanOrEqual(40); // it is to be read
  writeFileSync(path.join(folder, "induction.mjs"), program!);
  const printed = execFileSync(process.execPath, ["induction.mjs", "trained.safetensors", String(SETTINGS.heads)], {
    cwd: folder,
    encoding: "utf8",
    timeout: WAIT_MILLISECONDS,
  });
  expect(printed).toMatch(/^layer 2 head [12] is an induction head$/m);
  expect(printed).not.toMatch(/^layer 1/m);
  const [, copied, without] = /copied: (\d) of 9, without these heads: (\d)/.exec(printed)!;
  expect(Number(copied)).toBeGreaterThanOrEqual(7);
  expect(Number(without)).toBeLessThanOrEqual(2);
});
