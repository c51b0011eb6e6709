/**
 * The loss of a GPUDevice. `GPUDevice.lost` keeps every reaction for as long as the device lives, so it gets one, however
 * many instances and calls wait for the loss.
 */
export class Loss {
  static readonly #known = new WeakMap<GPUDevice, Loss>();
  readonly #listeners = new Set<(info: GPUDeviceLostInfo) => void>();
  /** Undefined while the device is not lost. */
  info: GPUDeviceLostInfo | undefined;

  private constructor(device: GPUDevice) {
    const tell = (info: GPUDeviceLostInfo) => {
      this.info = info;
      for (const listener of [...this.#listeners]) listener(info);
      this.#listeners.clear();
    };
    device.lost.then(tell, () => undefined); // it never rejects, unless the device only looks like one
  }

  /** Of a device: the same object whoever asks. */
  static of(device: GPUDevice): Loss {
    const loss = Loss.#known.get(device) ?? new Loss(device);
    Loss.#known.set(device, loss);
    return loss;
  }

  /** Calls `listener` when the device is lost, unless the function returned is called before. */
  listen(listener: (info: GPUDeviceLostInfo) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Waits so long for the loss. */
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
