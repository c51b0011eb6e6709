/**
 * Decides when something that lies in one engine moves to the other: when the calls so far would have been faster there by
 * as much as the move costs. So the time lost is never more than twice that of the best decision. Calls that are faster
 * here count against the move.
 */
export class Residence {
  #lost = 0;

  /**
   * Notes a call. Returns whether moving pays now.
   *
   * @param here - Seconds predicted where it lies.
   * @param there - Seconds predicted in the other engine.
   * @param move - Seconds that the move takes.
   */
  note(here: number, there: number, move: number): boolean {
    this.#lost = Math.max(0, this.#lost + here - there);
    return this.#lost > move;
  }

  /** It has moved, or it could not. */
  reset(): void {
    this.#lost = 0;
  }
}
