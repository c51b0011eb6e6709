import { relaxedSimd, simd } from "wasm-feature-detect";

import { UnsupportedError } from "../base/errors.js";

export type Variant = "simd" | "relaxed";

interface VariantRow {
  readonly name: Variant;
  /** Whether this JavaScript engine can run the variant. */
  readonly supported: () => Promise<boolean>;
  /** The reason for the report and for errors if it cannot. */
  readonly missing: string;
}

/** Asks once what this JavaScript engine can run: V8 never frees all that it keeps of a module that was validated. */
function askedOnce(ask: () => Promise<boolean>): () => Promise<boolean> {
  let answer: Promise<boolean> | undefined;
  return () => (answer ??= ask());
}

/** All variants, the best first. */
const VARIANTS: readonly VariantRow[] = [
  {
    name: "relaxed",
    supported: askedOnce(relaxedSimd),
    missing: "this engine has no relaxed SIMD (Node 20 has it behind --experimental-wasm-relaxed-simd)",
  },
  { name: "simd", supported: askedOnce(simd), missing: "this engine has no WebAssembly SIMD" },
];

export const VARIANT_NAMES = ["auto", ...VARIANTS.map(({ name }) => name)] as const;

/**
 * Chooses the best variant that runs here, or checks the wanted one. `reason` says why a better variant was not chosen;
 * it is "" if there is no better one.
 */
export async function chooseVariant(
  operation: string,
  wanted: Variant | "auto",
  offered: readonly Variant[],
): Promise<{ readonly variant: Variant; readonly reason: string }> {
  if (typeof WebAssembly !== "object")
    throw new UnsupportedError(`${operation}: this JavaScript engine has no WebAssembly, or has it switched off`);
  const missing: string[] = [];
  for (const row of VARIANTS) {
    if (wanted !== "auto" && wanted !== row.name) continue;
    if (!offered.includes(row.name)) {
      missing.push(`this entry of the package has no ${row.name} SIMD module`);
      continue;
    }
    if (await row.supported()) return { variant: row.name, reason: missing.join("; ") };
    missing.push(row.missing);
  }
  throw new UnsupportedError(`${operation}: variant ${JSON.stringify(wanted)} cannot run: ${missing.join("; ")}`);
}
