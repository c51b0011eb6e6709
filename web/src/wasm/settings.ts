import { SETTINGS, SETTINGS_NAMES, type AttentionSettings, type PlainName } from "../attention/attentionSettings.js";
import { formulaWriting } from "./formulaWriting.js";
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

/** Writes a plain setting unless it has its default, which `reset` has written: each property costs time. */
function plain<Name extends PlainName>(name: Name): Write<Name> {
  const { absent } = SETTINGS[name];
  return (call, settings, arena) => {
    const value: number | boolean | Float32Array | Int32Array | undefined = settings[name];
    if (value !== absent) call[name] = typeof value === "object" ? arena.copy(value) : Number(value);
  };
}

/** How each other setting is written; the compiler asks for a new one. */
const OWN: { readonly [Name in Exclude<keyof AttentionSettings, PlainName>]-?: Write<Name> } = {
  causal(call, { causal }) {
    if (causal !== "none") call.causal = CAUSAL[causal];
  },
  queryOffset(call, { queryOffset }, arena) {
    if (queryOffset) call.queryOffset = arena.copy(queryOffset);
  },
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
    if (score) formulaWriting.code!.writeFormula(call, arena, "score", score);
  },
  visible(call, { visible }, arena) {
    if (visible) formulaWriting.code!.writeFormula(call, arena, "visible", visible);
  },
  alibiQueryPositions(call, { alibiQueryPositions }, arena) {
    if (alibiQueryPositions) call.alibiQueryPositions = arena.copy(alibiQueryPositions);
  },
  alibiKeyPositions(call, { alibiKeyPositions }, arena) {
    if (alibiKeyPositions) call.alibiKeyPositions = arena.copy(alibiKeyPositions);
  },
  dropout(call, { dropout }) {
    if (!dropout) return;
    call.dropoutRate = dropout.rate;
    call.dropoutSeed = dropout.seed;
  },
  emptyRows(call, { emptyRows }) {
    if (emptyRows !== "zero") call.emptyRows = EMPTY_ROWS[emptyRows];
  },
};

const PLAIN = SETTINGS_NAMES.filter((name): name is PlainName => !(name in OWN));
const WRITES: readonly Write<keyof AttentionSettings>[] = [...PLAIN.map(plain), ...Object.values(OWN)];

/** Writes all settings into a call whose properties are those of `reset`. */
export function writeSettings(call: AttentionCall, arena: Room, settings: AttentionSettings): void {
  for (const write of WRITES) write(call, settings, arena);
}
