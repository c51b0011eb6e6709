import { readFileSync } from "node:fs";

import { expect, test } from "@jest/globals";

import { readNpy, writeNpy } from "../../../web/demo/lab/rooms/tensors/files/npy.js";
import { randomNormal } from "../../../web/demo/lab/shell/random.js";
import { expectClose, LabPage } from "./labPage.js";

const lab = new LabPage();

test("tensors that are dropped, and the output that is saved", async () => {
  const tensor = (seed: number) => ({ data: randomNormal(seed, 3 * 8 * 4), shape: [3, 8, 4] });
  const [query, key, value] = [tensor(1), tensor(2), tensor(3)];
  const { output, probs } = await lab.hw.scaledDotProductAttention(query, key, value, {
    causal: true,
    returns: { probs: true },
  });
  await lab.enter("tensors?causal=true");
  const files = Object.entries({ q: query, k: key, v: value });
  await lab.page.setInputFiles(
    "#files",
    files.map(([name, { shape, data }]) => ({
      name: `${name}.npy`,
      mimeType: "",
      buffer: Buffer.from(writeNpy(shape, data)),
    })),
  );
  await lab.page.getByText("Output [3, 8, 4]").waitFor();
  expectClose(await lab.mapNumbers(), probs.data);
  const [download] = await Promise.all([
    lab.page.waitForEvent("download"),
    lab.page.getByText("Save output.npy").click(),
  ]);
  const saved = readNpy(readFileSync(await download.path()), "output");
  expect(saved.shape).toEqual([3, 8, 4]);
  expectClose([...saved.data], output.data);
  await lab.page.setInputFiles("#files", { name: "broken.npy", mimeType: "", buffer: Buffer.from("no") });
  await lab.page.getByText("broken.npy is no .npy file").waitFor();
});
