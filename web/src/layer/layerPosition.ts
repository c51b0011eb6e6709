import { describe } from "../base/describe.js";
import { ShapeError } from "../base/errors.js";
import { ANGLE_OTHERS } from "../position/otherNames.js";
import { SINUSOIDAL } from "../position/position.js";
import { ANGLE_NAMES, readAngles, type CheckedAngles, type RotaryAngles } from "../position/rotaryAngles.js";
import type { OptionReader } from "../read/options.js";
import { own, required } from "../read/settingKinds.js";
import { namesIn, readTable, type TableOf } from "../read/settingTable.js";
import type { CheckedTensor, TensorLike } from "../tensor/tensor.js";
import type { LayerShape } from "./layerShape.js";

/** How a layer uses the positions of its tokens. */
export type LayerPosition =
  | {
      /** Row p of the table is added to the token at position p. */
      readonly kind: "learned";
      /** `[rows, inputDim]`, float32. */
      readonly table: TensorLike<"float32">;
    }
  | {
      /** Sines and cosines are added to the tokens; see `sinusoidalPositions`. */
      readonly kind: "sinusoidal";
      /** The order of the features. Default `"interleaved"`. */
      readonly split?: "interleaved" | "halves" | undefined;
      /** Base of the wavelengths. Default 10000. */
      readonly base?: number | undefined;
    }
  | ({ /** Queries and keys are turned (rotary embedding). */ readonly kind: "rotary" } & RotaryAngles);

export type CheckedPosition =
  | { readonly kind: "none" }
  | { readonly kind: "learned"; readonly table: CheckedTensor<"float32"> }
  | { readonly kind: "sinusoidal"; readonly split: "interleaved" | "halves"; readonly base: number }
  | { readonly kind: "rotary"; readonly angles: CheckedAngles };

type PositionOf<K extends LayerPosition["kind"]> = Omit<Extract<LayerPosition, { readonly kind: K }>, "kind">;

/** A row for each option of learned positions. */
const LEARNED = {
  table: required(own(undefined, readRows), "a tensor [rows, inputDim]"),
} satisfies TableOf<PositionOf<"learned">, LayerShape>;

/** The options of each kind of position, without `kind`. */
const POSITION_NAMES = { learned: namesIn(LEARNED), sinusoidal: namesIn(SINUSOIDAL), rotary: ANGLE_NAMES } as const;

export function readPosition(options: OptionReader, name: string, shape: LayerShape): CheckedPosition {
  const kinds = Object.keys(POSITION_NAMES) as (keyof typeof POSITION_NAMES)[];
  const all = options.object(name, ["kind", ...Object.values(POSITION_NAMES).flat()], ANGLE_OTHERS)!;
  if (!all.has("kind")) throw all.refuse("kind", `be given: ${kinds.join(", ")}`);
  const kind = all.oneOf("kind", kinds, "learned");
  const position = all.narrowed(["kind", ...POSITION_NAMES[kind]]);
  switch (kind) {
    case "learned":
      return { kind, ...readTable(position, LEARNED, shape) };
    case "sinusoidal":
      return { kind, ...readTable(position, SINUSOIDAL) };
    case "rotary":
      return { kind, angles: readAngles(position, shape.headDim) };
  }
}

function readRows(
  position: OptionReader,
  name: string,
  { inputDim }: LayerShape,
): CheckedTensor<"float32"> | undefined {
  const table = position.tensor(name, ["float32"])!;
  if (table.shape.length !== 2 || table.shape[0] === 0 || table.shape[1] !== inputDim)
    throw new ShapeError(
      `${position.at(name)}.shape must be [rows, ${inputDim}] with at least one row, got ${describe(table.shape)}`,
    );
  return table;
}
