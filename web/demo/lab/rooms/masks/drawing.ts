import { attentionDifferences, type Difference } from "../../engine/difference.js";
import type { Engine } from "../../engine/engine.js";
import { t } from "../../../texts/t.js";
import { faultOf, type Compiled, type Fault } from "./compile.js";
import { optionsOf, tensorsOf } from "./options.js";
import type { Settings } from "./settings.js";
import { seenInScores, type Seen } from "./tiles.js";
import { seenBy } from "./words.js";

/** What the room draws, by head. */
export interface Drawn {
  /** [heads, queries, keys] */
  readonly probs: Float32Array;
  /** The pairs that have a weight. */
  readonly seen: readonly Seen[];
  /** The pairs that are computed: a score formula may still hide some. */
  readonly computed: readonly Seen[];
  readonly formulas: Compiled;
}

/** Computes by the first formulas that headwise takes, and says why it did not take the first. */
export async function drawing(
  engine: Engine,
  settings: Settings,
  candidates: readonly Compiled[],
): Promise<{ readonly drawn: Drawn; readonly refused: Fault | undefined }> {
  const [formulas = {}, ...others] = candidates;
  try {
    return { drawn: await compute(engine, settings, formulas), refused: undefined };
  } catch (error) {
    if (others.length === 0) throw error;
    return { ...(await drawing(engine, settings, others)), refused: faultOf(error) };
  }
}

async function compute(engine: Engine, settings: Settings, formulas: Compiled): Promise<Drawn> {
  const { query, key, value } = tensorsOf(settings);
  const options = { ...optionsOf(settings), ...formulas };
  const heads = Array.from({ length: settings.heads }, (_, head) => head);
  if (!formulas.visible && !formulas.score) {
    const returns = { output: false, probs: true } as const;
    const { probs } = await engine.scaledDotProductAttention(query, key, value, { ...options, returns });
    const seen = heads.map(() => seenBy(settings));
    return { probs: probs.data, seen, computed: seen, formulas };
  }
  const scoresAt = async (stage: "biased" | "formula") => {
    const returns = { output: false, probs: true, scores: stage } as const;
    const { probs, scores } = await engine.scaledDotProductAttention(query, key, value, { ...options, returns });
    return { probs: probs.data, seen: heads.map((head) => seenInScores(scores.data, settings, head)) };
  };
  const { probs, seen } = await scoresAt("formula");
  return { probs, seen, computed: formulas.score ? (await scoresAt("biased")).seen : seen, formulas };
}

/** Whether all heads see the same pairs. */
export function headsAgree(seen: readonly Seen[]): boolean {
  const [{ queries, keys, count }, ...others] = seen as readonly [Seen, ...Seen[]];
  for (let query = 0; query < queries; query++)
    for (let key = 0; key < keys; key++) {
      const first = count(query, key, key + 1);
      if (others.some((other) => other.count(query, key, key + 1) !== first)) return false;
    }
  return true;
}

/**
 * Compares what is drawn with the definition in double precision. With formulas, the definition begins with the scores
 * that headwise computed by them.
 */
export async function differences(engine: Engine, settings: Settings, formulas: Compiled): Promise<Difference[]> {
  const [tensors, options] = [tensorsOf(settings), optionsOf(settings)];
  const { query, key, value } = tensors;
  const isPlain = !formulas.visible && !formulas.score;
  const { output, probs, scores } = await engine.scaledDotProductAttention(query, key, value, {
    ...options,
    ...formulas,
    returns: { output: true, probs: true, scores: isPlain ? "biased" : "formula" },
  });
  const exact = { ...options, ...(!isPlain && { scores: scores.data }) };
  const found = attentionDifferences(
    { ...tensors, options: exact },
    { output: { data: output.data as Float32Array, shape: output.shape }, probs },
  );
  return isPlain ? found : found.map((one) => ({ ...one, what: t`${one.what} from the scores after the formulas` }));
}
