// What the operations' file takes from the entry that loads it, so that neither code nor class is there twice.

import { readReturns, readSettings, SETTINGS_NAMES } from "./attentionOptions.js";
import { attentionProblem, OPTION_NAMES, outputForm, refuseGpu } from "./attentionProblem.js";
import { arrayKind, describe } from "./describe.js";
import { Disposing } from "./disposable.js";
import { DisposedError, OptionError, OutOfMemoryError, ShapeError, UnsupportedError } from "./errors.js";
import { axisName, headsShape, keepRank, LAYOUTS, packsHeads, shapeOf } from "./layout.js";
import { mergeNote, noteForMerge } from "./mergeNotes.js";
import { argument, OptionReader, signalOf } from "./options.js";
import { BYTES, checkTensor, elementCount } from "./tensor.js";
import { DTYPE, LAYOUT, masks, placeInput, placeOutput, refuseOverlap } from "./wasm/attention.js";
import { writeRagged, writeSettings, writeWanted } from "./wasm/attention.js";

/** In an order, for names count bytes: the build reads them here (`web/build/handOver.mjs`). */
// prettier-ignore
export const shared = [
  readReturns, readSettings, SETTINGS_NAMES,
  attentionProblem, OPTION_NAMES, outputForm, refuseGpu,
  arrayKind, describe, Disposing,
  DisposedError, OptionError, OutOfMemoryError, ShapeError, UnsupportedError,
  axisName, headsShape, keepRank, LAYOUTS, packsHeads, shapeOf,
  mergeNote, noteForMerge,
  argument, OptionReader, signalOf,
  BYTES, checkTensor, elementCount,
  DTYPE, LAYOUT, masks, placeInput, placeOutput, refuseOverlap,
  writeRagged, writeSettings, writeWanted,
] as const;
