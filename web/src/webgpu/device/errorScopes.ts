import { describe, isObject } from "../../base/describe.js";
import { HeadwiseError, OutOfMemoryError } from "../../base/errors.js";

const FILTERS = ["validation", "internal", "out-of-memory"] as const;

/** Error scopes of a device. An error of the GPU inside of them never appears on the console. */
export class ErrorScopes {
  readonly #device: GPUDevice;
  readonly #errors: Promise<GPUError | null>[] = [];

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /**
   * Runs `work` inside error scopes, and waits for nothing. `work` must not be asynchronous: the scopes are one stack
   * for the whole device, which others may use in the meantime. As many scopes are popped as were pushed, also if
   * something throws.
   */
  around<T>(work: () => T): T {
    let open = 0;
    try {
      for (const filter of FILTERS) {
        this.#device.pushErrorScope(filter);
        open += 1;
      }
      return work();
    } finally {
      for (; open > 0; --open) {
        const error = popped(this.#device);
        error.catch(() => undefined); // a lost device: `first` or a later call reports it
        this.#errors.push(error);
      }
    }
  }

  /** Waits until the GPU has reported the errors of all `work` so far. Resolves to the first of them. */
  async first(): Promise<GPUError | undefined> {
    const errors = await Promise.all(this.#errors);
    return errors.find((error) => error !== null) ?? undefined;
  }
}

/** Rejects if the device throws. */
async function popped(device: GPUDevice): Promise<GPUError | null> {
  return device.popErrorScope();
}

/** Whether the error from an error scope says that memory is missing. */
export function isOutOfMemory(error: GPUError): boolean {
  const kind = Object.prototype.toString.call(error).slice("[object ".length, -1);
  return kind === "GPUOutOfMemoryError" || /out of memory/i.test(error.message);
}

/** Our error for an error from an error scope. */
export function scopeError(operation: string, error: GPUError): HeadwiseError {
  if (isOutOfMemory(error))
    return new OutOfMemoryError(`${operation}: the GPU is out of memory: ${error.message}`, {
      hint: 'Split the call, ask for fewer results, or use backend "wasm".',
      cause: error,
    });
  return refusal(operation, error);
}

/** Our error for any other error of the GPU. */
export function refusal(operation: string, cause: unknown): HeadwiseError {
  const reason = isObject(cause) && "message" in cause ? String(cause.message) : describe(cause);
  return new HeadwiseError(`${operation}: the GPU refused the call: ${reason}`, { cause });
}
