import { namesOf, type OptionReader } from "../call/options.js";
import { ShapeError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import { ANGLE_NAMES, readAngles, type CheckedAngles, type RotaryAngles } from "../position/rotaryAngles.js";
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

/** The options of each kind of position, without `kind`. */
const POSITION_NAMES = {
  learned: namesOf<PositionOf<"learned">>({ table: true }),
  sinusoidal: namesOf<PositionOf<"sinusoidal">>({ split: true, base: true }),
  rotary: ANGLE_NAMES,
} as const;

type PositionOf<K extends LayerPosition["kind"]> = Omit<Extract<LayerPosition, { readonly kind: K }>, "kind">;

export function readPosition(options: OptionReader, shape: LayerShape): CheckedPosition {
  const kinds = Object.keys(POSITION_NAMES) as (keyof typeof POSITION_NAMES)[];
  const all = options.object("position", ["kind", ...Object.values(POSITION_NAMES).flat()]);
  if (!all) return { kind: "none" };
  if (!all.has("kind")) throw all.refuse("kind", `be given: ${kinds.join(", ")}`);
  const kind = all.oneOf("kind", kinds, "learned");
  const position = all.narrowed(["kind", ...POSITION_NAMES[kind]]);
  switch (kind) {
    case "learned":
      return { kind, table: readTable(position, shape.inputDim) };
    case "sinusoidal": {
      const base = position.number("base") ?? 10000;
      if (base <= 0) throw position.refuse("base", "be greater than 0");
      return { kind, base, split: position.oneOf("split", ["interleaved", "halves"], "interleaved") };
    }
    case "rotary":
      return { kind, angles: readAngles(position, shape.headDim) };
  }
}

function readTable(position: OptionReader, inputDim: number): CheckedTensor<"float32"> {
  const table = position.tensor("table", ["float32"]);
  if (!table) throw position.refuse("table", "be given: a tensor [rows, inputDim]");
  if (table.shape.length !== 2 || table.shape[0] === 0 || table.shape[1] !== inputDim)
    throw new ShapeError(
      `${position.at("table")}.shape must be [rows, ${inputDim}] with at least one row, ` +
        `got ${describe(table.shape)}`,
    );
  return table;
}
