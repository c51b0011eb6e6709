import { backwardProblem } from "../attention/backwardProblem.js";
import { mergeProblem } from "../attention/mergeProblem.js";
import { KvCache } from "../cache/kvCache.js";
import { kvCacheProblem, restoreCache } from "../cache/savedCache.js";
import { here } from "../call/late.js";
import { Layer } from "../layer/layer.js";
import { layerProblem } from "../layer/layerProblem.js";
import { linearBackwardProblem, linearProblem, uploadWeightProblem } from "../linear/linearProblem.js";
import { UploadedWeight } from "../linear/uploadedWeight.js";
import { rotaryProblem } from "../position/rotaryProblem.js";
import * as plans from "./parts/plans.js";
import type { InstanceParts, Readers } from "./parts.js";

const readers: Readers = {
  backwardProblem,
  KvCache,
  kvCacheProblem,
  Layer,
  layerProblem,
  linearBackwardProblem,
  linearProblem,
  mergeProblem,
  restoreCache,
  rotaryProblem,
  uploadWeightProblem,
  UploadedWeight,
};

/** The code of an instance, for an entry that loads no parts. It leaves out what WebAssembly runs. */
export const instanceHere: InstanceParts = { operations: here(readers), plans: here(plans) };
