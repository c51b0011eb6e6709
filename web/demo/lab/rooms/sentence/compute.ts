import type { EncodeOptions, Encoding } from "../../../model/encoder.js";
import { gainsOf, hiddenOf, MOST_SENTENCES, textsOf, type Settings } from "./settings.js";
import type { Seen } from "./seen.js";

/** Reads sentences with the model. */
export type Reader = (texts: readonly string[], options: EncodeOptions) => Promise<readonly Encoding[]>;

/** Everything that is drawn. */
export interface Computed extends Seen {
  /** All sentences that are read. The chosen one is as it is shown. */
  readonly encodings: readonly Encoding[];
  readonly chosen: number;
  /** The number of sentences in the text. */
  readonly given: number;
}

/**
 * Reads the sentences. `first` are encodings that came with the page; they are used if they are all that is needed, so
 * that the model need not be loaded. Otherwise everything is computed by one engine, and differences are real.
 */
export async function compute(
  settings: Settings,
  read: Reader,
  first: (text: string, positions: boolean) => Encoding | undefined,
): Promise<Computed> {
  const { positions, head } = settings;
  const all = textsOf(settings);
  const texts = all.length > 0 ? all.slice(0, MOST_SENTENCES) : [""];
  const chosen = Math.min(settings.sentence, texts.length - 1);
  const text = texts[chosen]!;
  const gains = gainsOf(settings);
  const isScaled = gains.some((gain) => gain !== 1);

  const ready = [...texts.map((each) => first(each, positions)), first(text, !positions)];
  const isReady = !isScaled && settings.hidden === "" && ready.every((encoding) => encoding !== undefined);
  const encodings = isReady ? ready.slice(0, -1).map((encoding) => encoding) : await read(texts, { positions });
  const original = encodings[chosen]!;
  const hiddenTokens = hiddenOf(settings, original.tokens.length);
  const changes: EncodeOptions = {
    ...(isScaled && { headGain: [gains.slice(0, 4), gains.slice(4)] }),
    ...(hiddenTokens.length > 0 && { hiddenTokens }),
  };
  const options = { ...changes, positions };
  const isChanged = isScaled || hiddenTokens.length > 0;
  const shown = isChanged ? (await read([text], options))[0]! : original;
  const other = isReady ? ready.at(-1)! : (await read([text], { ...changes, positions: !positions }))[0]!;
  return {
    shown,
    original,
    placed: positions ? shown : other,
    unplaced: positions ? other : shown,
    options,
    head,
    encodings: encodings.with(chosen, shown),
    chosen,
    given: all.length,
  };
}
