export interface TrainOptions {
  readonly task: "text" | "sums" | "repeat";
  /** A text of one's own. */
  readonly text: string | undefined;
  /** How long to train, or how many steps. */
  readonly budget: { readonly minutes: number } | { readonly steps: number };
  readonly seed: number;
  readonly threads: number | "auto";
  /** The folder for the weights. */
  readonly out: string;
  /** Begins anew, even if there is a checkpoint. */
  readonly fresh: boolean;
  readonly help: boolean;
}

export const HELP: string;

/** @throws UsageError if an argument is wrong. */
export function parseTrainOptions(args: readonly string[]): TrainOptions;
