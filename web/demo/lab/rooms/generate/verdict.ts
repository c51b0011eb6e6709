import { textOf, tokensOf, vocabularyOf, type DecoderConfig } from "../../../generate/decoderFile.js";
import { judged } from "../../../stories/judge.js";
import type { Written } from "../../engine/generateProtocol.js";
import { counted } from "../../shell/numbers.js";

/** What the grammar says of the sentences of a story so far, and whether the story has ended. */
export function storyVerdict(config: DecoderConfig, { tokens, begun }: Pick<Written, "tokens" | "begun">): string {
  if (!config.words) return "";
  const { tokens: names } = vocabularyOf(config);
  const words = Array.from(tokens, (token) => names[token]!);
  const hasEnded = words.length > begun && words.at(-1) === config.end;
  const ended = hasEnded ? "The story has ended. Another seed tells another one." : "";
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
  const sentences = counted(verdicts.length, "sentence");
  if (wrong.length === 0) return `The grammar finds ${sentences}, and no fault: each is true in its story.`;
  const unread = wrong.filter(({ isSentence }) => !isSentence).length;
  const others = wrong.length - unread;
  const faults = [
    ...(unread > 0 ? [`${unread} of another grammar`] : []),
    ...(others > 0 ? [`${others} not true in this story`] : []),
  ];
  return `The grammar finds ${sentences}: ${faults.join(", and ")}. The first of these is “${shown(wrong[0]!.words)}”`;
}
