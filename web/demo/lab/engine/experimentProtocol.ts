import type { Taking } from "../../generate/sampling.js";
import type { HeadPlace } from "../shell/headPlace.js";
import type { HeadShare } from "./pronounProtocol.js";

/** A text in which one word has become another one. */
export interface Swap {
  readonly from: string;
  readonly to: string;
  readonly text: string;
}

/** What to try. Chances are those of `taking`. */
interface Trial {
  readonly text: string;
  readonly taking: Taking;
}

export interface SwapOrder extends Trial {
  readonly kind: "swap";
  readonly swap: Swap;
  readonly control: Swap;
}

/** An experiment with the heads that look at what comes next. */
export interface HeadsOrder extends Trial {
  readonly kind: "copying" | "weight";
}

export type ExperimentOrder = SwapOrder | HeadsOrder;

/** The likeliest next word. */
export interface Expected {
  readonly word: string;
  readonly chance: number;
}

/** What a head looks at most, the part of its weight that is there, and what the model says next. */
export interface Looking extends Expected {
  readonly on: string;
  readonly share: number;
}

/** Which head moves most when one word is another one. The control is another word, and the same head. */
export interface SwapResult {
  readonly kind: "swap";
  readonly order: SwapOrder;
  readonly head: HeadPlace;
  /** The part of its weight that goes elsewhere. */
  readonly moved: number;
  readonly before: Looking;
  readonly after: Looking;
  readonly control: Expected & { readonly moved: number };
}

/** What is left of a repetition without the heads that copy. The control are other heads: as many, if there are so many. */
export interface CopyingResult {
  readonly kind: "copying";
  readonly order: HeadsOrder;
  /** The heads that look at the earlier place of the word that comes next, and the least part of their weight there. */
  readonly heads: readonly HeadPlace[];
  readonly share: number;
  readonly expected: Expected;
  /** The least chance of that word when one of them is off. */
  readonly alone: number;
  /** Its chance without all of them, and what the model says then. */
  readonly left: number;
  readonly without: Expected;
  readonly others: readonly HeadPlace[];
  readonly control: number;
}

/** Two heads that look at the answer: the one that the model needs most, and the one that it needs least, which is the control. */
export interface WeightResult {
  readonly kind: "weight";
  readonly order: HeadsOrder;
  readonly expected: Expected;
  readonly needed: HeadShare;
  readonly spared: HeadShare;
  /** What the model says without the needed head, and what part of its weight the other one has on the answer then. */
  readonly without: Expected;
  readonly still: number;
  /** What it says without the other head. */
  readonly control: Expected;
}

/** Too few heads look at an earlier place of the word that comes next: there is nothing to switch off. */
export interface TooFewResult {
  readonly kind: "tooFew";
  readonly order: HeadsOrder;
  readonly expected: Expected;
  /** Whether the text has that word. */
  readonly stands: boolean;
  /** The head that looks there most. */
  readonly closest: HeadShare;
}

export type ExperimentResult = SwapResult | CopyingResult | WeightResult | TooFewResult;
