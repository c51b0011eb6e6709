import { counted } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { kvHeadsOf } from "./options.js";
import { sameFormulas, shownFormulas } from "./formulas.js";
import { RECIPES } from "./recipes.js";
import { inForce, NO_SINK, SAID_BY_FORMULAS, type Settings } from "./settings.js";

/** The rules of a known model, on few tokens and heads. */
export interface Preset {
  /** All rules. None comes from what was set before. */
  readonly rules: Settings;
  /** What the model does, and what is different here. */
  readonly story: (rules: Settings) => string;
}

const RULES_OFF = {
  ...SAID_BY_FORMULAS,
  sink: NO_SINK,
  emptyRows: "zero",
  sharpness: 1,
  rules: "options",
  visible: "",
  score: "",
  parameters: "",
} as const;
const SQUARE = { queries: 24, keys: 24 };
/** Every query head has its own key head. */
const apart = (heads: number) => ({ heads, kvHeads: heads });

const shared = (rules: Settings) => counted(rules.heads / kvHeadsOf(rules), "query head");

export const PRESETS: Readonly<Record<string, Preset>> = {
  // Devlin et al. 2018, arXiv 1810.04805
  [t`BERT, padded`]: {
    rules: { ...RULES_OFF, ...SQUARE, ...apart(2), keyLength: 17 },
    story: ({ keys, keyLength }) =>
      t`BERT reads in both directions. A short sentence in a batch is padded: here the last ${keys - keyLength} of ${keys} places are padding, which no query sees.`,
  },
  // Radford et al. 2018 and 2019
  GPT: {
    rules: { ...RULES_OFF, ...SQUARE, ...apart(2), causal: "lower-right" },
    story: () => t`GPT reads from left to right: a query sees itself and what came before.`,
  },
  [t`GPT, next tokens`]: {
    rules: { ...RULES_OFF, ...apart(2), queries: 6, keys: 24, causal: "lower-right" },
    story: ({ queries, keys }) =>
      t`GPT goes on with its text: the keys of ${keys - queries} tokens lie in its cache, and ${queries} new tokens ask.`,
  },
  // Jiang et al. 2023, arXiv 2310.06825: window 4096, 32 query heads, 8 key heads
  "Mistral 7B": {
    rules: { ...RULES_OFF, ...SQUARE, causal: "lower-right", left: 7, heads: 8, kvHeads: 2 },
    story: (rules) =>
      t`Mistral 7B (version 0.1) sees a window: a query sees itself and the 4,095 tokens before it, here the ${rules.left} before it. ${shared(rules)} share a key head, in the model and here.`,
  },
  // BigScience 2022, arXiv 2211.05100; slopes of Press et al. 2021, arXiv 2108.12409
  BLOOM: {
    rules: { ...RULES_OFF, ...SQUARE, ...apart(4), causal: "lower-right", alibi: true },
    story: () =>
      t`BLOOM has no vectors of positions. Each head lowers a score by its slope times the distance (ALiBi), so that near tokens weigh more.`,
  },
  // Gemma Team 2024, arXiv 2408.00118: logits of attention capped at 50, local layers of 4096 tokens, two query heads a key head
  [t`Gemma 2, local layer`]: {
    rules: { ...RULES_OFF, ...SQUARE, causal: "lower-right", left: 11, softcap: 50, heads: 4, kvHeads: 2 },
    story: (rules) =>
      t`Every second layer of Gemma 2 is local: a window of 4,096 tokens, here of ${rules.left + 1}. Scores are kept between −50 and 50 by a tanh. ${shared(rules)} share a key head.`,
  },
  [t`Gemma 2, global layer`]: {
    rules: { ...RULES_OFF, ...SQUARE, causal: "lower-right", softcap: 50, heads: 4, kvHeads: 2 },
    story: (rules) =>
      t`The other layers of Gemma 2 are global: no window. The cap of 50 and the shared key heads (${shared(rules)} each) stay.`,
  },
  // OpenAI 2025, arXiv 2508.10925: every second layer has a band of 128 tokens; 64 query heads, 8 key heads; a learned number in each softmax
  "gpt-oss": {
    rules: { ...RULES_OFF, ...SQUARE, causal: "lower-right", left: 7, sink: 1, heads: 8, kvHeads: 1 },
    story: (rules) =>
      t`Every second layer of gpt-oss has a window of 128 tokens, here of ${rules.left + 1}; the others have none. Each head has a learned sink, here ${rules.sink} in all heads, that takes a part of every row. ${shared(rules)} share a key head.`,
  },
  // Beltagy et al. 2020, arXiv 2004.05150: a window of 512, half of it on each side, and global tokens
  Longformer: {
    rules: { ...RULES_OFF, ...SQUARE, ...apart(2), left: 4, right: 4 },
    story: ({ left }) =>
      t`Longformer sees 256 tokens on each side, here ${left}. Some global tokens see everything and are seen by all; they are left out here.`,
  },
};

/** The name of the preset whose rules these are, as options or as formulas; undefined if there is none. */
export function presetOf(settings: Settings): string | undefined {
  const now = effective(settings);
  const found = Object.entries({ ...PRESETS, ...RECIPES }).find(
    ([, { rules }]) =>
      (settings.rules === rules.rules || settings.rules === "formulas") &&
      effective({ ...rules, rules: settings.rules }) === now &&
      sameFormulas(shownFormulas(settings), shownFormulas(rules)),
  );
  return found?.[0];
}

/** The options as text, without differences that change nothing. */
function effective(settings: Settings): string {
  const options = inForce(settings);
  const { keys, keyLength } = options;
  const texts = { visible: "", score: "", parameters: "" };
  const same = { ...options, ...texts, keyLength: Math.min(keyLength, keys), kvHeads: kvHeadsOf(settings) };
  return JSON.stringify(Object.entries(same).sort(([a], [b]) => (a < b ? -1 : 1)));
}
