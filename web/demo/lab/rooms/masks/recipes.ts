import { relativePositionBias, tensor } from "headwise";

import { t } from "../../../texts/t.js";
import type { Formulas } from "./formulas.js";
import { NO_SINK, SAID_BY_FORMULAS, type Settings } from "./settings.js";

/** Rules that only formulas can say. */
interface Recipe {
  readonly rules: Settings;
  readonly story: () => string;
}

const TOKENS = 24;

function rules(formulas: Partial<Formulas>, heads = 2): Settings {
  return {
    ...SAID_BY_FORMULAS,
    queries: TOKENS,
    keys: TOKENS,
    heads,
    kvHeads: heads,
    sink: NO_SINK,
    emptyRows: "zero",
    sharpness: 1,
    rules: "formulas",
    visible: "",
    score: "",
    parameters: "",
    ...formulas,
  };
}

/** How the distances of T5 fall into 8 buckets; the first one is that of the first key and the last query. */
function buckets(): string {
  const numbers = tensor(
    Float32Array.from({ length: 8 }, (_, bucket) => bucket),
    [8, 1],
  );
  const distances = { queryLength: 1, keyLength: 2 * TOKENS - 1, queryOffset: TOKENS - 1, maxDistance: 16 };
  return `[${relativePositionBias(numbers, distances).data.join(", ")}]`;
}

export const RECIPES: Readonly<Record<string, Recipe>> = {
  [t`Packed documents`]: {
    rules: rules({
      visible: "doc[q] == doc[k] && k <= q",
      parameters: `doc = [${Array.from({ length: TOKENS }, (_, at) => Number(at >= 7) + Number(at >= 16)).join(", ")}]`,
    }),
    story: () =>
      t`Three texts lie one after the other in one sequence. The list doc says for each token which text it belongs to, and no token sees another text.`,
  },
  [t`Prefix-LM`]: {
    rules: rules({ visible: "k <= q || k < prefix", parameters: "prefix = 8" }),
    story: () => t`All tokens see the whole beginning, here 8 tokens. What follows it is read from left to right.`,
  },
  // Xiao et al. 2023, arXiv 2309.17453
  [t`First tokens and a window`]: {
    rules: rules({ visible: "k <= q && (q - k < window || k < first)", parameters: "window = 6\nfirst = 2" }),
    story: () =>
      t`As in StreamingLLM, a query sees a window of the latest tokens and the first tokens of the text, which take the weight that no other token wants.`,
  },
  // Child et al. 2019, arXiv 1904.10509
  [t`Dilated`]: {
    rules: rules({ visible: "k <= q && (q - k) % step == 0", parameters: "step = 3" }),
    story: () => t`A query sees itself and every third token before it: far, at a third of the cost.`,
  },
  [t`A window for each head`]: {
    rules: rules({ visible: "k <= q && q - k < window[h]", parameters: "window = [2, 4, 8, 16]" }, 4),
    story: () => t`Each head has a window of its own: choose a head of the map, and the tiles follow it.`,
  },
  // Hassani et al. 2023, arXiv 2204.07143
  [t`Neighbours in an image`]: {
    rules: rules({
      visible: "abs(q % width - k % width) <= near && abs(floor(q / width) - floor(k / width)) <= near",
      parameters: "width = 6\nnear = 1",
    }),
    story: () =>
      t`The tokens are the 6 × 4 patches of an image, row by row. A patch sees itself and the patches around it.`,
  },
  // Raffel et al. 2020, arXiv 1910.10683
  [t`T5 buckets`]: {
    rules: rules({
      score: "s + bias[bucket[k - q + Sq - 1]][h]",
      parameters:
        `bucket = ${buckets()}\n` +
        "bias = [[1.5, 0], [0.8, 0.2], [0.2, -0.4], [-0.6, -1], [1, 0.4], [0.6, 1.2], [0, 0.8], [-0.8, -0.5]]",
    }),
    story: () =>
      t`T5 adds a learned number for each head and each distance. Far distances share numbers: a list says which bucket a distance falls into, and a table has a number for each bucket and head. The numbers here are invented.`,
  },
};
