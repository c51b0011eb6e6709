import { parseArgs } from "node:util";

import { UsageError } from "../../cli/options.js";

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

export const HELP = `Trains the small models of the lab's rooms Generate and Your model, with headwise.

  npm run train:demo -- [options]

  --task NAME     text (default): the next word of stories that a grammar writes
                  sums: the sum of two numbers, digit by digit
                  repeat: letters in random order that are repeated
  --text FILE     the next character of a text of your own (UTF-8) instead
  --minutes N     how long to train (default: 60 for text, 10 for sums, 2 for repeat)
  --steps N       how many steps instead; with --fresh, the same seed gives the same weights
  --seed N        for the first weights and the order of the data (default 1)
  --threads N     worker threads (default: as many as the machine has)
  --out FOLDER    where to write the weights (default web/demo/decoders)
  --fresh         begin anew; without it, training goes on from the last checkpoint
  --help          this text

A checkpoint is written every minute, and after
Ctrl-C. The same command goes on from it, and more minutes or steps go on from a training that has ended.
`;

const FLAGS = {
  task: { type: "string" },
  text: { type: "string" },
  minutes: { type: "string" },
  steps: { type: "string" },
  seed: { type: "string" },
  threads: { type: "string" },
  out: { type: "string" },
  fresh: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

const USUAL_MINUTES = { text: 60, sums: 10, repeat: 2 } as const;

/** @throws UsageError if an argument is wrong. */
export function parseTrainOptions(args: readonly string[]): TrainOptions {
  const { task = "text", text, minutes, steps, seed, threads, out, fresh, help } = parsed(args);
  if (task !== "text" && task !== "sums" && task !== "repeat")
    throw new UsageError(`--task must be text, sums or repeat, got "${task}"`);
  if (text !== undefined && task !== "text") throw new UsageError("--text is for --task text");
  if (minutes !== undefined && steps !== undefined) throw new UsageError("give --minutes or --steps, not both");
  return {
    task,
    text,
    budget:
      steps === undefined
        ? { minutes: number("--minutes", minutes ?? String(USUAL_MINUTES[task]), 0.01, 10_000) }
        : { steps: integer("--steps", steps, 1, 10_000_000) },
    seed: integer("--seed", seed ?? "1", 0, 2 ** 32 - 1),
    threads: threads === undefined ? "auto" : integer("--threads", threads, 1, 1024),
    out: out ?? "web/demo/decoders",
    fresh: fresh === true,
    help: help === true,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: FLAGS }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function integer(flag: string, value: string, least: number, most: number): number {
  const read = number(flag, value, least, most);
  if (Number.isInteger(read)) return read;
  throw new UsageError(`${flag} must be a whole number, got "${value}"`);
}

function number(flag: string, value: string, least: number, most: number): number {
  const read = /^\d+(\.\d+)?$/.test(value) ? Number(value) : NaN;
  if (read >= least && read <= most) return read;
  throw new UsageError(`${flag} must be a number from ${least} to ${most}, got "${value}"`);
}
