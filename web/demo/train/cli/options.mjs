// The options of `npm run train:demo`. They are read before anything is built, so this is no TypeScript.

import { decimalNumber, oneOf, readOptions, UsageError, wholeNumber } from "../../../build/usage.mjs";

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

A checkpoint is written every minute, and after Ctrl-C. The same command goes on from it, and more minutes or steps go on
from a training that has ended.
`;

const USUAL_MINUTES = { text: "60", sums: "10", repeat: "2" };

/** @type {typeof import("./options.d.mts").parseTrainOptions} */
export function parseTrainOptions(args) {
  const {
    task = "text",
    text,
    minutes,
    steps,
    seed = "1",
    threads = "auto",
    out,
    fresh,
    help,
  } = readOptions(HELP, args);
  oneOf("--task", task, Object.keys(USUAL_MINUTES));
  if (text !== undefined && task !== "text") throw new UsageError("--text is for --task text");
  if (minutes !== undefined && steps !== undefined) throw new UsageError("give --minutes or --steps, not both");
  return {
    task,
    text,
    budget:
      steps === undefined
        ? { minutes: decimalNumber("--minutes", minutes ?? USUAL_MINUTES[task], 0.01, 10_000) }
        : { steps: wholeNumber("--steps", steps, 1, 10_000_000) },
    seed: wholeNumber("--seed", seed, 0, 2 ** 32 - 1),
    threads: threads === "auto" ? "auto" : wholeNumber("--threads", threads, 1, 1024),
    out: out ?? "web/demo/decoders",
    fresh: fresh === true,
    help: help === true,
  };
}
