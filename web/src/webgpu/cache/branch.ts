import { rowsOfBatches, type KeptTokens } from "../../cache/keptTokens.js";
import type { Run } from "./cacheStore.js";

/** What stays of one batch: its first `from` tokens, and some of the later ones. */
export class Branch {
  constructor(
    readonly from: number,
    /** Counted from `from`, ascending. */
    readonly rows: Int32Array,
  ) {}

  get length(): number {
    return this.from + this.rows.length;
  }

  /** By how many positions row i moves towards the start. It never falls with i. */
  shift(i: number): number {
    return this.rows[i]! - i;
  }

  /** If no token stays before the first row, the angles of the batch begin later, and that row keeps its angle. */
  get originShift(): number {
    return this.from === 0 && this.rows.length > 0 ? this.shift(0) : 0;
  }

  /** Whether a token stays at another position than it had. */
  get moves(): boolean {
    return this.rows.some((_, i) => this.shift(i) !== 0);
  }

  /** The number of the first row whose key is turned in a rotary cache. All later ones are. */
  get firstTurned(): number {
    const first = this.rows.findIndex((_, i) => this.shift(i) !== this.originShift);
    return first < 0 ? this.rows.length : first;
  }

  /** The places of the tokens that stay, in a store that holds a token at the place of its position. */
  get runs(): Run[] {
    const runs = [{ place: 0, count: this.from }];
    for (const row of this.rows) {
      const last = runs.at(-1)!;
      if (last.place + last.count === this.from + row) last.count += 1;
      else runs.push({ place: this.from + row, count: 1 });
    }
    return runs.filter(({ count }) => count > 0);
  }
}

export function branchesOf(tokens: KeptTokens): Branch[] {
  return rowsOfBatches(tokens).map((rows, b) => new Branch(tokens.from[b]!, rows));
}
