import { OutOfMemoryError } from "../base/errors.js";
import type { Placement } from "../tensor/placement.js";
import { BYTES, elementCount } from "../tensor/tensor.js";
import { STEP_MEMORY, type ArrayPlace } from "./stepProblem.js";

/** The arrays that a step has, by dtype. */
interface Arrays {
  float32: Float32Array;
  int32: Int32Array;
}

/** Arrays begin at a line of memory. */
const LINE = 64;

/**
 * The memory of a step while it is recorded. An array here stands for one that the engine will have: it has the length that
 * the checks of operations read, and no number of it is ever touched. `locate` says where the real one will be.
 */
export class StepMemory {
  readonly #placement: Placement;
  readonly #addresses = new Map<ArrayBufferLike, number>();
  readonly #places: ArrayPlace[] = [];
  #bytes = 0;

  /** @param placement - Where other tensors lie. */
  constructor(placement: Placement) {
    this.#placement = placement;
  }

  /** Where the arrays lie, one after another. */
  get places(): readonly ArrayPlace[] {
    return this.#places;
  }

  /** Where tensors of the step's operations lie. */
  get placement(): Placement {
    return {
      locate: (operation, argument, given, view) => {
        const address = this.#addresses.get(view.buffer);
        if (address !== undefined) return address + view.byteOffset;
        return this.#placement.locate?.(operation, argument, given, view);
      },
    };
  }

  allocate<D extends keyof Arrays>(operation: string, shape: readonly number[], dtype: D): Arrays[D] {
    const length = elementCount(operation, "tensor", shape);
    const array = arrayOf(operation, dtype, length);
    const place = { address: STEP_MEMORY + this.#bytes, bytes: Math.ceil((length * BYTES[dtype]) / LINE) * LINE };
    this.#addresses.set(array.buffer, place.address);
    this.#places.push(place);
    this.#bytes += place.bytes;
    return array;
  }
}

function arrayOf<D extends keyof Arrays>(operation: string, dtype: D, length: number): Arrays[D] {
  try {
    return (dtype === "int32" ? new Int32Array(length) : new Float32Array(length)) as Arrays[D];
  } catch (cause) {
    throw new OutOfMemoryError(`${operation}: a tensor of ${length} numbers does not fit memory`, { cause });
  }
}
