/// <reference lib="esnext.disposable" preserve="true" />

/** An object with a `dispose()` that `using` and `await using` call, on engines that know the symbols. */
export abstract class Disposing {
  /** Calling it twice is harmless. */
  abstract dispose(): void;

  declare [Symbol.dispose]: () => void;
  declare [Symbol.asyncDispose]: () => Promise<void>;

  static {
    const define = (name: symbol | undefined, value: (this: Disposing) => unknown) => {
      if (name) Object.defineProperty(this.prototype, name, { value, configurable: true, writable: true });
    };
    define(Symbol.dispose, function () {
      this.dispose();
    });
    define(Symbol.asyncDispose, function () {
      this.dispose();
      return Promise.resolve();
    });
  }
}
