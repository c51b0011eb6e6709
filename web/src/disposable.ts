/// <reference lib="esnext.disposable" preserve="true" />

/** What `using` needs of an object, beside its `dispose()`. */
export interface Disposables {
  dispose(): void;
  [Symbol.dispose](): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Adds the methods that `using` and `await using` call, on engines that know the symbols. */
export function disposable(type: { readonly prototype: { dispose(): void } }): void {
  const define = (name: symbol | undefined, value: (this: { dispose(): void }) => unknown) => {
    if (name) Object.defineProperty(type.prototype, name, { value, configurable: true, writable: true });
  };
  define(Symbol.dispose, function () {
    this.dispose();
  });
  define(Symbol.asyncDispose, function () {
    this.dispose();
    return Promise.resolve();
  });
}
