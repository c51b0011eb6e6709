import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";

import { loadSafetensors, saveSafetensors, type Floats, type Tree } from "headwise/train";

import type { AsideParameters } from "../aside.js";
import { asParameters, type Parameters } from "../model.js";

/** Where a training stands. */
export interface Standing {
  readonly parameters: Parameters;
  /** The weights of what the training asks aside. */
  readonly aside?: AsideParameters;
  /** The state of the optimizer. */
  readonly optimizer: Tree;
  /** The state of the random numbers. */
  readonly random: Uint32Array;
  /** How long it has trained. */
  readonly seconds: number;
}

/** A file from which a training goes on. Its name has a hash of everything that the result depends on. */
export class Checkpoint {
  readonly #file: string;

  constructor(folder: string, task: string, dependsOn: unknown) {
    mkdirSync(folder, { recursive: true });
    const hash = createHash("sha256").update(JSON.stringify(dependsOn)).digest("hex").slice(0, 12);
    this.#file = path.join(folder, `${task}-${hash}.safetensors`);
  }

  /** undefined if there is no checkpoint. */
  read(): Standing | undefined {
    if (!existsSync(this.#file)) return undefined;
    const { parameters, aside, optimizer, ...rest } = loadSafetensors(readFileSync(this.#file)) as Record<string, Tree>;
    const { random, seconds } = rest as Record<string, Floats>;
    return {
      parameters: asParameters(parameters!),
      ...(aside && { aside: aside as AsideParameters }),
      optimizer: optimizer!,
      random: Uint32Array.from({ length: 4 }, (_, n) => random!.data[2 * n]! + random!.data[2 * n + 1]! * 2 ** 16),
      seconds: seconds!.data[0]!,
    };
  }

  /** Writes a new file and renames it, so that a crash leaves the old one. */
  write({ parameters, aside, optimizer, random, seconds }: Standing): void {
    // a float32 holds 16 bits of a word exactly
    const halves = Float32Array.from([...random].flatMap((word) => [word & 0xffff, word >>> 16]));
    const tree = {
      parameters,
      ...(aside && { aside }),
      optimizer,
      random: { data: halves, shape: [8] },
      seconds: { data: Float32Array.of(seconds), shape: [1] },
    };
    writeFileSync(`${this.#file}.new`, saveSafetensors(tree));
    renameSync(`${this.#file}.new`, this.#file);
  }
}
