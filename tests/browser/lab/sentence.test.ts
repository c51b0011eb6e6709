import { expect, test } from "@jest/globals";

import { Encoder } from "../../../web/demo/model/encoder.js";
import { DEFAULT_SENTENCES } from "../../../web/demo/model/story.js";
import { modelFiles } from "../../web/demoModel.js";
import { expectClose, LabPage } from "./labPage.js";

const lab = new LabPage();

test("the sentence room computes what the package computes in Node, with and without changes", async () => {
  const encoder = await Encoder.load(lab.hw, modelFiles);
  const probs = async (options: Parameters<Encoder["encode"]>[1]) =>
    (await encoder.encode(DEFAULT_SENTENCES[0]!, options)).layers.flatMap((layer) => [...layer.probs]);
  await lab.enter("sentence");
  expectClose(await lab.mapNumbers(), await probs({}));
  await lab.enter("sentence?gains=1,0,1,1,1.5,1,1,1&hidden=5&positions=false");
  const options = {
    positions: false,
    headGain: [
      [1, 0, 1, 1],
      [1.5, 1, 1, 1],
    ],
    hiddenTokens: [5],
  };
  expectClose(await lab.mapNumbers(), await probs(options));
  expect(await lab.page.textContent(".effect")).toMatch(/cosine of 0\.\d{4}/);
  expect(await lab.page.getByText("their rows are equal").count()).toBe(1);
});
