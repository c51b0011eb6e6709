/**
 * The loss of a GPUDevice. `GPUDevice.lost` keeps all its handlers as long as the device lives. So it gets only this
 * one, for all instances and calls.
 */
export class Loss {
  static readonly #known = new WeakMap<GPUDevice, Loss>();
  readonly #listeners = new Set<(info: GPUDeviceLostInfo) => void>();
  /** undefined as long as the device is not lost. */
  info: GPUDeviceLostInfo | undefined;

  private constructor(device: GPUDevice) {
    const tell = (info: GPUDeviceLostInfo) => {
      this.info = info;
      for (const listener of [...this.#listeners]) listener(info);
      this.#listeners.clear();
    };
    device.lost.then(tell, () => undefined); // a real device's promise never rejects
  }

  /** The Loss of a device. There is one for each device. */
  static of(device: GPUDevice): Loss {
    const loss = Loss.#known.get(device) ?? new Loss(device);
    Loss.#known.set(device, loss);
    return loss;
  }

  /** Calls `listener` when the device is lost. The returned function cancels that. */
  listen(listener: (info: GPUDeviceLostInfo) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits this long for the loss. */
  async within(milliseconds: number): Promise<GPUDeviceLostInfo | undefined> {
    if (this.info) return this.info;
    return new Promise((resolve) => {
      const timer = setTimeout(() => settle(undefined), milliseconds);
      const leave = this.listen((info) => settle(info));
      const settle = (info: GPUDeviceLostInfo | undefined) => {
        clearTimeout(timer);
        leave();
        resolve(info);
      };
    });
  }
}
