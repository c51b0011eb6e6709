import type { EmptyRows } from "../../attention/attentionOptions.js";
import type { AttentionProblem } from "../../attention/attentionProblem.js";
import type { AttentionShape } from "../../attention/attentionShape.js";
import type { Wanted } from "../../attention/returns.js";
import type { Graph } from "../../formula/graph.js";
import type { Watched } from "../../read/watched.js";
import { largestOf } from "../../tensor/largest.js";
import type { Layout } from "../../tensor/layout.js";
import type { FloatDtype, StoredDtype } from "../kernels/kernel.js";
import { FEATURE, type FeatureName, type SettingFeature } from "../kernels/params.js";
import type { Sequence } from "./sequences.js";
import { settingFeatures } from "./settings.js";

/** All facts about a call that decide how it is computed. */
export interface AttentionFacts {
  readonly operation: string;
  readonly shape: AttentionShape;
  readonly layout: Layout;
  readonly kvLayout: Layout;
  readonly dtypes: { readonly query: FloatDtype; readonly key: StoredDtype; readonly value: StoredDtype };
  /** Inputs that lie in the engine's own arrays, where rows are whole vec4 for every width. */
  readonly inPlace?: readonly ("query" | "key" | "value")[];
  readonly output: FloatDtype;
  /** The bits of `features` that follow from the settings. */
  readonly settingFeatures: number;
  /** Whether the keys lie in a cache's ring. */
  readonly ring: boolean;
  /** How many first keys meet queries of their own (`kept_queries` of params.ts). Default 0. */
  readonly keptKeys?: number | undefined;
  readonly dropout: boolean;
  readonly emptyRows: EmptyRows;
  /** The graphs of the formulas. */
  readonly score?: Graph | undefined;
  readonly visible?: Graph | undefined;
  readonly ragged: boolean;
  readonly numSequences: number;
  /** Number of query rows (`longestQuery`) and key rows (`longestKey`) of the longest sequence. */
  readonly longestQuery: number;
  readonly longestKey: number;
  readonly wanted: Wanted;
}

/** The facts about a call whose tensors are the caller's. */
export function factsOf(
  problem: Omit<AttentionProblem, "output" | "location" | keyof Watched | "keepRank"> & {
    readonly output: Pick<AttentionProblem["output"], "dtype">;
  },
  sequences: readonly Sequence[],
): AttentionFacts {
  const { operation, shape, layout, kvLayout, query, key, value, settings, wanted, output, ragged } = problem;
  return {
    operation,
    shape,
    layout,
    kvLayout,
    dtypes: { query: query.dtype, key: key.dtype, value: value.dtype },
    output: output.dtype,
    settingFeatures: settingFeatures(settings),
    ring: false,
    dropout: settings.dropout !== undefined,
    emptyRows: settings.emptyRows,
    score: settings.score?.graph,
    visible: settings.visible?.graph,
    ragged: ragged !== undefined,
    numSequences: sequences.length,
    longestQuery: largestOf(sequences.map(({ numQueries }) => numQueries)),
    longestKey: largestOf(sequences.map(({ keyLength }) => keyLength)),
    wanted,
  };
}

/** The bits of `features` for the call; see `has` in call.wgsl. */
export function featuresOf({ settingFeatures: bySettings, ring, ragged, wanted }: AttentionFacts): number {
  const present: Readonly<Record<Exclude<FeatureName, SettingFeature>, boolean>> = {
    entropies: wanted.entropy,
    ring,
    output: wanted.output,
    ragged,
    average: false,
  };
  const names = Object.keys(present) as (keyof typeof present)[];
  return names.reduce((bits, name) => bits | (present[name] ? FEATURE[name] : 0), bySettings);
}
