import { Call, type Span } from "./call.js";
import type { GpuCore } from "./core.js";
import type { Range } from "./commands.js";
import type { Purpose } from "../device/buffers.js";

/** Commands that many calls take as they are. What they read and write lies in memory that outlives those calls. */
export class Listing extends Call {
  readonly #make: (bytes: number, purpose: Purpose) => Span;
  #listed = 0;

  /** @param make - Makes that memory. */
  constructor(core: GpuCore, operation: string, make: (bytes: number, purpose: Purpose) => Span) {
    super(core, operation);
    this.#make = make;
  }

  override room(bytes: number, purpose: Purpose = "storage"): Span {
    return this.#make(bytes, purpose);
  }

  /**
   * Lists some commands.
   *
   * @returns which they are; undefined if a call cannot take them as they are: they use the caller's buffers, copy something, or
   *   take long, so that a call cuts them into pieces.
   */
  add(list: (call: Call) => void): Range | undefined {
    const [from, own] = [this.#listed, this.ownCount];
    list(this);
    const to = (this.#listed = this.operations.length);
    const takesLong = this.operations.slice(from, to).some((operations) => operations > 0);
    return takesLong || this.ownCount > own ? undefined : { from, to };
  }

  /** Writes the numbers of the commands. No command is listed after that. */
  override close(): void {
    super.close();
    this.writeNumbers();
  }
}
