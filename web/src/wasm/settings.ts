import type { AttentionSettings } from "../attention/attentionSettings.js";
import type { PlacedTensor } from "../tensor/tensor.js";
import { writeFormula } from "./formula.js";
import type { Room } from "./heap.js";
import { DTYPE, placeInput } from "./inputs.js";
import type { AttentionCall } from "./module.js";

/** The enumerators of attention.h. */
const CAUSAL = { none: 0, "upper-left": 1, "lower-right": 2 } as const;
const EMPTY_ROWS = { zero: 0, nan: 1, uniform: 2, throw: 3 } as const;

/** Writes the settings of these names into a call. */
type Write<Name extends keyof AttentionSettings> = (
  call: AttentionCall,
  settings: Pick<AttentionSettings, Name>,
  arena: Room,
) => void;

/**
 * How each setting is written; the compiler asks for a new one. A setting that has its default is left as `reset` left
 * it, because each property costs time.
 */
const WRITE: { readonly [Name in keyof AttentionSettings]-?: Write<Name> } = {
  scale(call, { scale }) {
    if (scale !== undefined) call.scale = scale;
  },
  softcap(call, { softcap }) {
    if (softcap !== 0) call.softcap = softcap;
  },
  causal(call, { causal }) {
    if (causal !== "none") call.causal = CAUSAL[causal];
  },
  queryOffset: list("queryOffset"),
  window(call, { window: { left, right } }) {
    if (left !== undefined) call.windowLeft = left;
    if (right !== undefined) call.windowRight = right;
  },
  mask(call, { mask }, arena) {
    if (!mask) return;
    call.mask = placeInput(arena, mask.tensor);
    call.setMaskExtents(...mask.extents);
  },
  bias(call, { bias }, arena) {
    if (!bias) return;
    call.bias = placeInput(arena, bias.tensor);
    call.biasDtype = DTYPE[bias.tensor.dtype];
    call.setBiasExtents(...bias.extents);
  },
  score(call, { score }, arena) {
    if (score) writeFormula(call, arena, "score", score);
  },
  visible(call, { visible }, arena) {
    if (visible) writeFormula(call, arena, "visible", visible);
  },
  keyLengths: list("keyLengths"),
  queryLengths: list("queryLengths"),
  excludeSelf(call, { excludeSelf }) {
    if (excludeSelf) call.excludeSelf = 1;
  },
  alibiSlopes: list("alibiSlopes"),
  alibiQueryPositions: list("alibiQueryPositions"),
  alibiKeyPositions: list("alibiKeyPositions"),
  sinks: list("sinks"),
  headGain: list("headGain"),
  dropout(call, { dropout }) {
    if (!dropout) return;
    call.dropoutRate = dropout.rate;
    call.dropoutSeed = dropout.seed;
  },
  emptyRows(call, { emptyRows }) {
    if (emptyRows !== "zero") call.emptyRows = EMPTY_ROWS[emptyRows];
  },
};

const WRITES = Object.values<Write<keyof AttentionSettings>>(WRITE);

/** The names of settings that are lists of numbers or absent. C++ has an address of the same name. */
type ListName = {
  [Name in keyof AttentionSettings]-?: AttentionSettings[Name] extends Float32Array | Int32Array | undefined
    ? Name
    : never;
}[keyof AttentionSettings];

function list<Name extends ListName>(name: Name): Write<Name> {
  return (call, settings, arena) => {
    const numbers: Float32Array | Int32Array | undefined = settings[name];
    if (numbers) call[name] = arena.copy(numbers);
  };
}

/** Writes all settings into a call whose properties are those of `reset`. */
export function writeSettings(call: AttentionCall, arena: Room, settings: AttentionSettings): void {
  for (const write of WRITES) write(call, settings, arena);
}

/** The tensors among the settings. */
export function masks({ mask, bias }: AttentionSettings): { mask?: PlacedTensor; bias?: PlacedTensor } {
  return { ...(mask && { mask: mask.tensor }), ...(bias && { bias: bias.tensor }) };
}
