/// <reference lib="esnext.disposable" preserve="true" />

/** The base class of objects with `dispose()`. `using` and `await using` call it, on engines that know the symbols. */
export abstract class Disposing {
  /** Frees the object's memory. A second call does nothing. */
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
