import { scopeError, type Device } from "../device/device.js";

const FILTERS = ["validation", "internal", "out-of-memory"] as const;

/** The error scopes of one call. With them an error of the GPU becomes one of ours and never appears on the console. */
export class Scopes {
  readonly #device: Device;
  readonly #operation: string;
  readonly #errors: Promise<GPUError | null>[] = [];

  constructor(device: Device, operation: string) {
    this.#device = device;
    this.#operation = operation;
  }

  /**
   * Runs `work` inside error scopes, and waits for nothing. `work` must not be asynchronous: the scopes are one stack
   * for the whole device, which others may use in the meantime.
   */
  around<T>(work: () => T): T {
    const { gpuDevice } = this.#device;
    for (const filter of FILTERS) gpuDevice.pushErrorScope(filter);
    try {
      return work();
    } finally {
      for (let n = 0; n < FILTERS.length; ++n) {
        const error = gpuDevice.popErrorScope();
        error.catch(() => undefined); // a lost device: `check` or a later call reports it
        this.#errors.push(error);
      }
    }
  }

  /** Waits until the GPU has told the errors of all `work` so far, and throws the first of them. */
  async check(): Promise<void> {
    const errors = await this.#device.whileAlive(this.#operation, Promise.all(this.#errors));
    const first = errors.find((error) => error !== null);
    if (first) throw scopeError(this.#operation, first);
  }
}
