import { readTokenPositions } from "../position/tokenPositions.js";
import type { OptionReader } from "../read/options.js";
import type { AttentionSettings } from "./attentionSettings.js";
import type { AttentionShape } from "./attentionShape.js";

/** Where tokens stand for ALiBi, if not at their indices: `[B, Sq]` and `[B, Skv]`. Both are given, or none. */
export type AlibiPositions = Pick<AttentionSettings, "alibiQueryPositions" | "alibiKeyPositions">;

/** Reads the options `positions` and `keyPositions` of a call whose queries and keys nothing else places. */
export function readAlibiPositions(
  options: OptionReader,
  { batchSize, queryLength, keyLength }: AttentionShape,
  { alibiSlopes }: Pick<AttentionSettings, "alibiSlopes">,
): AlibiPositions | undefined {
  const queries = readTokenPositions(options, { batchSize, length: queryLength });
  const keys = readTokenPositions(options, { batchSize, length: keyLength }, undefined, "keyPositions");
  if (!queries && !keys) return undefined;
  if (!alibiSlopes)
    throw options.refuse(queries ? "positions" : "keyPositions", "be absent without alibiSlopes", NO_READER);
  if (!keys) throw options.missing("keyPositions", "positions are those of the queries");
  if (!queries) throw options.missing("positions", "keyPositions are those of the keys");
  return { alibiQueryPositions: queries.data, alibiKeyPositions: keys.data };
}

const NO_READER = "Nothing else reads them: `rotaryEmbedding` turns queries and keys by positions.";
