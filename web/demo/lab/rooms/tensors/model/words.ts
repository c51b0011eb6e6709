import type { Candidate, ChangeKind, Habit, HeadChange, HeadPlace, ModelFacts, Seen } from "../../../engine/modelProtocol.js"; // oxfmt-ignore
import { listed } from "../../../shell/amounts.js";
import { headWords } from "../../../shell/headWords.js";
import { bytes, counted, decimal, grouped } from "../../../shell/numbers.js";
import { isSameHead } from "../../../shell/headPlace.js";
import { share } from "./share.js";
import { t } from "../../../../texts/t.js";

/** A habit whose score changes by less is told as unchanged. */
const SAME_SCORE = 0.005;
/** A prediction that moves less is told as unchanged. */
const HARDLY = 0.02;

export const TYPES: Readonly<Record<string, string>> = {
  bert: "BERT",
  distilbert: "DistilBERT",
  gemma: "Gemma",
  gemma2: "Gemma 2",
  gemma3_text: "Gemma 3",
  gpt2: "GPT-2",
  gpt_neo: "GPT-Neo",
  gpt_neox: "GPT-NeoX",
  llama: "Llama",
  mistral: "Mistral",
  modernbert: "ModernBERT",
  mpnet: "MPNet",
  opt: "OPT",
  phi3: "Phi-3",
  qwen2: "Qwen 2",
  qwen3: "Qwen 3",
  roberta: "RoBERTa",
  "xlm-roberta": "XLM-RoBERTa",
};

export { headWords };

/** The short name of what a head does. */
export function habitName({ kind, offset }: Pick<Habit, "kind" | "offset">): string {
  switch (kind) {
    case "previousToken":
      return t`token before`;
    case "selfToken":
      return t`itself`;
    case "firstToken":
      return t`first token`;
    case "duplicateToken":
      return t`same token`;
    case "induction":
      return t`induction`;
    case "positional":
      return t`offset ${`${offset! > 0 ? "+" : ""}${decimal(offset!, 0)}`}`;
    default:
      return kind satisfies never;
  }
}

/** "induction 0.82", "induction 0.82 → 0.05" */
export function habitWords(habit: Habit): string {
  const { before, now } = habit;
  const after = Math.abs(before - now) < SAME_SCORE ? "" : ` → ${decimal(now)}`;
  return `${habitName(habit)} ${decimal(before)}${after}`;
}

/** The strongest habit that a head has now, for the words under its map. */
export function habitOf(habits: readonly Habit[], place: HeadPlace, threshold: number): Habit | undefined {
  const own = habits.filter((habit) => isSameHead(habit, place) && habit.now >= threshold);
  return own.reduce<Habit | undefined>((best, habit) => (best && best.now >= habit.now ? best : habit), undefined);
}

/** What a change makes of a head, after its name. */
export const CHANGE_WORDS: Readonly<Record<ChangeKind, string>> = {
  off: t`is off`,
  mean: t`gives its mean everywhere`,
  first: t`looks at the first token only`,
  previous: t`looks at the token before only`,
};

/** The same on a small map. */
export const CHANGE_SIGNS: Readonly<Record<ChangeKind, string>> = {
  off: t`off`,
  mean: t`mean`,
  first: t`→ first`,
  previous: t`→ before`,
};

/** "layer 1 head 1 is off and layer 2 head 4 gives its mean everywhere" */
export function changesWords(changes: readonly HeadChange[]): string {
  return listed(changes.map((change) => `${headWords(change)} ${CHANGE_WORDS[change.kind]}`));
}

/** "A GPT-2 with 12 layers of 12 heads, 768 wide, 50,257 tokens; its weights take 475 MB. 2 threads." */
export function factWords({ type, layers, heads, width, vocabulary, bytes: size, threads }: ModelFacts): string {
  const sizes = sizeWords(layers, heads, width);
  const tokens = counted(vocabulary, "token");
  return t`A model of the type ${TYPES[type] ?? type} with ${sizes}, and ${tokens}; its weights take ${bytes(size)}. ${counted(threads, "thread")}.`;
}

/** "12 layers of 12 heads, 768 wide" */
export function sizeWords(layers: number, heads: number, width: number): string {
  return t`${counted(layers, "layer")} of ${counted(heads, "head")}, ${grouped(width)} wide`;
}

/** "Reading the weights: 12 MB of 90 MB" */
export function progressWords(loaded: number, total: number): string {
  return t`Reading the weights: ${bytes(loaded)} of ${bytes(total)}`;
}

/** What is left out of a text that is too long; "" if nothing is. */
export function leftWords({ left, tokens }: Pick<Seen, "left" | "tokens">): string {
  if (left === 0) return "";
  const most = counted(tokens.length, "token");
  return left === 1
    ? t`The room reads at most ${most} of this model: the last 1 of yours is left out.`
    : t`The room reads at most ${most} of this model: the last ${grouped(left)} of yours are left out.`;
}

/** The candidate that had the most without changes. */
function favourite(candidates: readonly Candidate[]): Candidate {
  return candidates.reduce((best, candidate) => (candidate.before > best.before ? candidate : best));
}

/** What stands under the room's title. */
export function finding({ type, isCausal }: ModelFacts, seen: Seen, changes: readonly HeadChange[]): string {
  const said = changes.length === 0 ? unchangedWords({ type, isCausal }, seen) : changedWords({ isCausal }, seen);
  return changes.length === 0 ? said : t`${sentence(changesWords(changes))}: ${said}`;
}

/** What the model expects as it is. */
function unchangedWords(
  { type, isCausal }: Pick<ModelFacts, "type" | "isCausal">,
  { effect, labels, at }: Seen,
): string {
  if (effect.kind === "states")
    return t`This ${TYPES[type] ?? type} has no head that predicts tokens. Change a head, and see which tokens’ last states turn.`;
  const { label, before } = favourite(effect.candidates);
  const [token, chance] = [labels[at]!, share(before)];
  return isCausal
    ? t`After “${token}” the model expects “${label}”, with ${chance}.`
    : t`In the place of “${token}” the model expects “${label}”, with ${chance}.`;
}

/** What has changed, after the names of the heads that are changed. */
function changedWords({ isCausal }: Pick<ModelFacts, "isCausal">, { effect, labels, at }: Seen): string {
  if (effect.kind === "states") {
    const least = Math.min(...effect.cosines);
    const turned = labels[effect.cosines.indexOf(least)]!;
    return t`the last state of “${turned}” turns most, to a cosine of ${decimal(least, 3)} with what it was.`;
  }
  const { label, before, now } = favourite(effect.candidates);
  const token = labels[at]!;
  const moves = movesWords(share(before), share(now), now < before);
  return isCausal
    ? t`after “${token}” the probability of “${label}” ${moves}.`
    : t`in the place of “${token}” the probability of “${label}” ${moves}.`;
}

/** "falls from 41.0 % to 9.0 %" */
export function movesWords(from: string, to: string, falls: boolean): string {
  if (from === to) return t`stays at ${to}`;
  return falls ? t`falls from ${from} to ${to}` : t`rises from ${from} to ${to}`;
}

/** What to look for now. */
export function lookFor(facts: ModelFacts, seen: Seen, changes: readonly HeadChange[]): string {
  return changes.length === 0 ? lookForHeads(facts, seen) : lookForEffects(seen, changes);
}

function lookForHeads({ isCausal }: ModelFacts, { habits }: Seen): string {
  const having = (kind: Habit["kind"]) =>
    habits
      .filter((habit) => habit.kind === kind)
      .slice(0, 4)
      .map(headWords);
  const [induction, previous, first] = [having("induction"), having("previousToken"), having("firstToken")];
  if (induction.length > 0) {
    const tells = t`They need a head of an earlier layer that tells every token what stands before it, such as ${listed(previous)}. Switch such heads off, one after another, and watch the prediction: often one of them is not missed, because another one does the same.`;
    const heads = sentence(listed(induction));
    const looks =
      induction.length === 1
        ? t`${heads} looks at what followed the same token the last time: induction, which continues a text that repeats itself.`
        : t`${heads} look at what followed the same token the last time: induction, which continues a text that repeats itself.`;
    return previous.length > 0 ? `${looks} ${tells}` : looks;
  }
  if (previous.length > 0) {
    const heads = sentence(listed(previous));
    return previous.length === 1
      ? t`${heads} looks at the token before. Make one of them look there only: if that is all it does, nothing changes. Then make it look at the first token.`
      : t`${heads} look at the token before. Make one of them look there only: if that is all it does, nothing changes. Then make it look at the first token.`;
  }
  if (first.length > 0) {
    const heads = sentence(listed(first));
    return first.length === 1
      ? t`${heads} rests on the first token: weight goes there that no other token needs. Switch one off: often little changes.`
      : t`${heads} rest on the first token: weight goes there that no other token needs. Switch one off: often little changes.`;
  }
  return isCausal
    ? t`No head has a habit with a name here. Choose “numbers of tokens” and leave the field empty: random tokens that are repeated show which heads copy.`
    : t`No head has a habit with a name here. Lower the threshold, or read a text in which words come twice.`;
}

function lookForEffects({ habits, effect }: Seen, changes: readonly HeadChange[]): string {
  const others = habits.filter((habit) => !changes.some((change) => isSameHead(change, habit)));
  const hit = others.filter(({ before, now }) => before - now >= 0.1).sort((a, b) => b.before - b.now - (a.before - a.now)); // oxfmt-ignore
  const lost = hit.slice(0, 3).map((habit) => `${headWords(habit)} (${habitWords(habit)})`);
  const chain = chainWords(lost);
  if (effect.kind === "states") return chain;
  return effect.moved < HARDLY
    ? t`${chain} The prediction hardly moves: it does not need this here, or other heads do the same. Change one more.`
    : t`${chain} Of the probability, ${share(effect.moved)} goes to other tokens.`;
}

function chainWords(lost: readonly string[]): string {
  if (lost.length === 0) return t`The other heads keep their habits.`;
  const heads = sentence(listed(lost));
  return lost.length === 1 ? t`${heads} needs what you changed.` : t`${heads} need what you changed.`;
}

/** What the read-out of a cell says. */
export function cellWords(labels: readonly string[], query: number, key: number, weight: number): string {
  const [from, part, to] = [labels[query]!, share(weight), labels[key]!];
  return key === query
    ? t`“${from}” gives ${part} of its attention to “${to}”, which is itself.`
    : t`“${from}” gives ${part} of its attention to “${to}”.`;
}

/** What the bars show. */
export function effectWords({ isCausal }: ModelFacts, { labels, at, effect }: Seen, hasChanges: boolean): string {
  if (effect.kind === "states")
    return t`The bar is the cosine of a token’s last hidden state with that of the model as it is. 1: nothing has changed.`;
  const what = isCausal ? t`What may follow “${labels[at]!}”.` : t`What may stand in the place of “${labels[at]!}”.`;
  if (!hasChanges) return what;
  return `${what} ${t`The bar is the probability now, the line what it was without the changes.`}`;
}

/** "12.3 % → 4.5 %"; one number where both are written alike. */
export function sharesWords(before: number, now: number): string {
  const [from, to] = [share(before), share(now)];
  return from === to ? to : `${from} → ${to}`;
}

export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
