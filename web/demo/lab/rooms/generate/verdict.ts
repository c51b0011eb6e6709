import { textOf, tokensOf, vocabularyOf, type DecoderConfig } from "../../../generate/decoderFile.js";
import { judged } from "../../../stories/judge.js";
import type { Written } from "../../engine/generateProtocol.js";
import { grouped } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";

/** What the grammar says of the sentences of a story so far, and whether the story has ended. */
export function storyVerdict(config: DecoderConfig, { tokens, begun }: Pick<Written, "tokens" | "begun">): string {
  if (!config.words) return "";
  const { tokens: names } = vocabularyOf(config);
  const words = Array.from(tokens, (token) => names[token]!);
  const hasEnded = words.length > begun && words.at(-1) === config.end;
  const ended = hasEnded ? t`The story has ended. Another seed tells another one.` : "";
  const shown = (sentence: readonly string[]) => textOf(tokensOf(sentence.join(" "), config), config);
  return [
    judgement(
      words.filter((word) => word !== config.end),
      shown,
    ),
    ended,
  ]
    .filter(Boolean)
    .join(" ");
}

function judgement(words: readonly string[], shown: (sentence: readonly string[]) => string): string {
  const verdicts = judged(words).filter((verdict) => /^[.?!”]$/.test(verdict.words.at(-1)!));
  if (verdicts.length === 0) return "";
  const wrong = verdicts.filter(({ isTrue }) => !isTrue);
  const count = grouped(verdicts.length);
  if (wrong.length === 0)
    return verdicts.length === 1
      ? t`The grammar finds 1 sentence, and no fault: each is true in its story.`
      : t`The grammar finds ${count} sentences, and no fault: each is true in its story.`;
  const unread = wrong.filter(({ isSentence }) => !isSentence).length;
  const others = wrong.length - unread;
  const faults = [
    ...(unread > 0 ? [t`${unread} of another grammar`] : []),
    ...(others > 0 ? [t`${others} not true in this story`] : []),
  ];
  const all = faults.length === 2 ? t`${faults[0]!}, and ${faults[1]!}` : faults[0]!;
  const found =
    verdicts.length === 1 ? t`The grammar finds 1 sentence: ${all}.` : t`The grammar finds ${count} sentences: ${all}.`;
  const first = shown(wrong[0]!.words);
  return `${found} ${wrong.length === 1 ? t`It is “${first}”` : t`The first of these is “${first}”`}`;
}
