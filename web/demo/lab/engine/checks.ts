import { Answers } from "./answers.js";
import { named, type Difference } from "./difference.js";

/** Comparisons with double precision that a worker has been asked for. */
export class Checks extends Answers<readonly Difference[]> {
  override answer(differences: readonly Difference[]): void {
    super.answer(named(differences));
  }
}
