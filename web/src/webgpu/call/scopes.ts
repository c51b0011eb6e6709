import type { Device } from "../device/device.js";
import { ErrorScopes, scopeError } from "../device/errorScopes.js";

/** The error scopes of one call. With them an error of the GPU becomes one of ours. */
export class Scopes {
  readonly #device: Device;
  readonly #operation: string;
  readonly #scopes: ErrorScopes;

  constructor(device: Device, operation: string) {
    this.#device = device;
    this.#operation = operation;
    this.#scopes = new ErrorScopes(device.gpuDevice);
  }

  /** Runs `work` inside error scopes, and waits for nothing. `work` must not be asynchronous. */
  around<T>(work: () => T): T {
    return this.#scopes.around(work);
  }

  /** Waits until the GPU has told the errors of all `work` so far, and throws the first of them. */
  async check(): Promise<void> {
    const error = await this.#device.whileAlive(this.#operation, this.#scopes.first());
    if (error) throw scopeError(this.#operation, error);
  }
}
