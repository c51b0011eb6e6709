import { readFileSync } from "node:fs";

import { gpt2Files } from "../../web/demo/train/gpt2Files.js";
import { asParameters } from "../../web/demo/train/model.js";
import { REPEAT_CHARACTERS } from "../../web/demo/train/repeat.js";
import { readStored } from "../../web/demo/train/storedWeights.js";

/** The files of the model with which the room Your model opens. */
export function exampleFiles() {
  const parameters = asParameters(readStored(readFileSync("web/demo/decoders/repeat.safetensors")));
  return gpt2Files(parameters, { heads: 4, length: 64, characters: REPEAT_CHARACTERS });
}
