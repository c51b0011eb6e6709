import { readFile } from "node:fs/promises";
import path from "node:path";

import { createAttention } from "headwise";

import { modelFiles } from "../cli/modelFiles.js";
import { Encoder } from "../model/encoder.js";
import type { PageNumbers } from "../model/packed.js";
import { packedAnatomy, type PackedAnatomy } from "../model/packedAnatomy.js";
import type { GraphModel } from "../model/weights.js";
import { firstAnatomies } from "./firstAnatomies.js";
import { firstEncodings } from "./firstEncodings.js";
import { firstScreen, type FirstScreen } from "./firstScreen.js";
import { storageError } from "./storageError.js";
import { storedFiles, storeModel } from "./storedModel.js";

/** Everything that the build computes for the page. */
export interface Ahead extends FirstScreen {
  readonly numbers: PageNumbers;
  readonly lesson: readonly PackedAnatomy[];
}

/** Stores the model in a folder, and computes with it what the page shows first. */
export async function computeAhead(modelFolder: string): Promise<Ahead> {
  await storeModel(modelFolder);
  const hw = await createAttention({ backend: "wasm", threads: 1 });
  try {
    const original = await Encoder.load(hw, modelFiles);
    const stored = await Encoder.load(hw, storedFiles(modelFolder));
    const storage = { megabytes: await megabytesOf(modelFolder), ...(await storageError(original, stored)) };
    const anatomies = await firstAnatomies(stored);
    return {
      numbers: { encodings: await firstEncodings(stored), storage },
      lesson: anatomies.map(packedAnatomy),
      ...firstScreen(anatomies),
    };
  } finally {
    hw.dispose();
  }
}

async function megabytesOf(modelFolder: string): Promise<number> {
  const { weightsManifest } = JSON.parse(await readFile(path.join(modelFolder, "model.json"), "utf8")) as GraphModel;
  return weightsManifest.flatMap(({ bytes }) => bytes ?? []).reduce((sum, size) => sum + size, 0) / 1e6;
}
