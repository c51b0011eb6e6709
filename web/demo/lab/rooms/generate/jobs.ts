import type { DecoderConfig } from "../../../generate/decoderFile.js";
import type { FactKind } from "../../../stories/shapes.js";
import type { HeadLoss } from "../../../train/storyFigures.js";
import { listed, percent } from "../../shell/amounts.js";
import { headLabel } from "../../shell/headWords.js";
import { t } from "../../../texts/t.js";

/** What a word with a true answer is about, for people. */
const NAMES: Readonly<Record<FactKind, string>> = {
  agreement: t`agreement (was or were)`,
  pronoun: t`he or she`,
  possessive: t`his or her`,
  "it/them": t`it or them`,
  recipient: t`who gets something`,
  owner: t`who has something`,
  colour: t`the colour of a thing`,
  thing: t`the thing of a colour`,
  count: t`how many`,
  list: t`the next of a list or a song`,
  place: t`the place`,
  pet: t`the name of a pet`,
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
      const falls = losses.slice(0, MOST_KINDS).map(({ kind, share }) => t`“${nameOf(kind)}” falls from ${percent(all[kind]!, 1)} to ${percent(share, 1)}`); // oxfmt-ignore
      const words = headJob(t`Layer ${layer + 1}, ${headLabel(head)}`, listed(falls), { before, earlier });
      return { words, most: losses[0]?.lost ?? 0 };
    })
    .filter(({ most }) => most > 0)
    .sort((a, b) => b.most - a.most)
    .map(({ words }) => words);
}

/** What is lost without a head, and where it looks, if more than half of its weight is there. */
function headJob(head: string, falls: string, { before, earlier }: Pick<HeadLoss, "before" | "earlier">): string {
  if (before > 0.5) return t`${head} looks at the word before: without it ${falls}.`;
  if (earlier > 0.5) return t`${head} looks at the earlier place of the word that comes next: without it ${falls}.`;
  return t`${head}: without it ${falls}.`;
}
