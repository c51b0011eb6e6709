import type { DecoderConfig } from "../../../generate/decoderFile.js";
import type { FactKind } from "../../../stories/shapes.js";
import { listed, percent } from "../../shell/amounts.js";
import { headLabel } from "../../shell/headWords.js";

/** What a word with a true answer is about, for people. */
const NAMES: Readonly<Record<FactKind, string>> = {
  agreement: "agreement (was or were)",
  pronoun: "he or she",
  possessive: "his or her",
  "it/them": "it or them",
  recipient: "who gets something",
  owner: "who has something",
  colour: "the colour of a thing",
  thing: "the thing of a colour",
  count: "how many",
  list: "the next of a list or a song",
  place: "the place",
  pet: "the name of a pet",
};

/** A loss of fewer points is no job. */
const LEAST = 0.05;
/** So many kinds of words are named for one head. */
const MOST_KINDS = 3;

const nameOf = (kind: string) => NAMES[kind as FactKind];

/** What the model finds of each kind, the best first: "it or them: 100 %". */
export function choiceWords({ figures: { stories } }: DecoderConfig): readonly string[] {
  const shares = Object.entries(stories?.choices ?? {}).sort(([, a], [, b]) => b - a);
  return shares.map(([kind, share]) => `${nameOf(kind)}: ${percent(share, 1)}`);
}

/** What each head is worth, the head with the largest loss first. Heads without a job are left out. */
export function jobWords({ figures: { stories, withoutHead = [] } }: DecoderConfig): readonly string[] {
  const all: Readonly<Record<string, number>> = stories?.choices ?? {};
  return withoutHead
    .map(({ layer, head, choices, before, earlier }) => {
      const losses = Object.entries(choices)
        .map(([kind, share]) => ({ kind, share, lost: all[kind]! - share }))
        .filter(({ lost }) => lost >= LEAST)
        .sort((a, b) => b.lost - a.lost);
      const falls = losses.slice(0, MOST_KINDS).map(({ kind, share }) => `${nameOf(kind)} falls from ${percent(all[kind]!, 1)} to ${percent(share, 1)}`); // prettier-ignore
      const words = `Layer ${layer + 1}, ${headLabel(head)}${lookWords(before, earlier)}: without it ${listed(falls)}.`;
      return { words, most: losses[0]?.lost ?? 0 };
    })
    .filter(({ most }) => most > 0)
    .sort((a, b) => b.most - a.most)
    .map(({ words }) => words);
}

/** Where a head looks, if more than half of its weight is there. */
function lookWords(before: number, earlier: number): string {
  if (before > 0.5) return " looks at the word before";
  return earlier > 0.5 ? " looks at the earlier place of the word that comes next" : "";
}
