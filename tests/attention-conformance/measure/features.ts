/** What a case needs of an engine, and under which heading it counts. */

import type { Row } from "./call.js";

/** What an engine's adapter must offer. Everything else can be tried on any engine. */
export const OFFERED = [
  "gqa",
  "causal",
  "causal lower-right",
  "causal upper-left",
  "query offset",
  "window",
  "boolean mask",
  "bias",
  "key lengths",
  "query lengths",
  "exclude self",
  "softcap",
  "alibi",
  "sinks",
  "head gain",
  "ragged",
  "empty-row policies",
  "float16",
  "lse",
  "entropy",
  "probs",
  "scores",
  "topK",
  "formulas",
  "gradients",
  "gradients of options",
  "gradients of lse",
  "dropout",
] as const;

export type Offered = (typeof OFFERED)[number];

/** The headings of the scoreboard, in its order. */
export const CATEGORIES = [
  "plain",
  "scale",
  "value width",
  ...OFFERED.slice(0, 16),
  "empty rows",
  ...OFFERED.slice(16, 23),
  "large magnitudes",
  "zero extents",
  "combinations",
  "isolation",
  ...OFFERED.slice(23),
  "onnx",
  "memory",
] as const;

export type Category = (typeof CATEGORIES)[number];

export interface Needs {
  readonly offered: readonly Offered[];
  readonly special: Category | undefined;
}

/** What every check of a row needs. */
export function needsOf({ shape, dtype, amplitude = {}, mask, bias, options = {}, formula }: Row): Needs {
  const { batchSize = 1, numHeads = 1, queryLength = 0, headDim = 0 } = shape;
  const { numKvHeads = numHeads, keyLength = queryLength, valueDim = headDim } = shape;
  const isLarge = Object.values(amplitude).some((x) => x >= 16) || (bias?.amplitude ?? 1) >= 1024 || bias?.minimum;
  const isZero = [batchSize, numHeads, queryLength, keyLength].includes(0);
  const wants: [Offered, unknown][] = [
    ["gqa", numKvHeads !== numHeads],
    [causalFeature(options["causal"], queryLength, keyLength, options["keyLengths"]), options["causal"]],
    ["query offset", options["queryOffset"]],
    ["window", options["window"]],
    ["boolean mask", mask],
    ["bias", bias],
    ["key lengths", options["keyLengths"]],
    ["query lengths", options["queryLengths"]],
    ["exclude self", options["excludeSelf"]],
    ["softcap", options["softcap"]],
    ["alibi", options["alibiSlopes"]],
    ["sinks", options["sinks"]],
    ["head gain", options["headGain"]],
    ["dropout", options["dropout"]],
    ["ragged", options["cuSeqLensQuery"]],
    ["empty-row policies", (options["emptyRows"] ?? "zero") !== "zero"],
    ["float16", dtype === "float16" || bias?.dtype === "float16"],
    ["formulas", formula],
  ];
  return {
    offered: wants.filter(([, isWanted]) => isWanted).map(([feature]) => feature),
    special: isZero
      ? "zero extents"
      : isLarge
        ? "large magnitudes"
        : options["scale"] !== undefined
          ? "scale"
          : valueDim !== headDim
            ? "value width"
            : undefined,
  };
}

/** With as many queries as keys both diagonals are the same. */
function causalFeature(causal: unknown, queries: number, keys: number, lengths: unknown): Offered {
  if (queries === keys && !lengths) return "causal";
  return causal === "upper-left" ? "causal upper-left" : "causal lower-right";
}

/** A check counts under its only feature; with several it is a combination. An offset needs a rule that looks at positions. */
export function categoryOf({ offered, special }: Needs, hasEmptyRows: boolean): Category {
  if (special === "zero extents") return special;
  if (offered.includes("formulas")) return "formulas";
  if (offered.includes("dropout")) return "dropout";
  if (offered.includes("empty-row policies")) return "empty-row policies";
  if (hasEmptyRows) return "empty rows";
  if (special === "large magnitudes" && offered.every((feature) => feature === "bias")) return special;
  if (offered.includes("query offset") && offered.length <= 2) return "query offset";
  if (offered.length > 1) return "combinations";
  return offered[0] ?? special ?? "plain";
}
