import { runInThisContext } from "node:vm";

/**
 * The package webgpu asks its driver for news in every turn of the event loop, by setImmediate, as long as anything is
 * under way. On a software adapter that takes as much of the processor as what it waits for. So it waits a little before
 * it asks.
 *
 * A native module sees the globals of the process, not those that Jest gives to a test. They outlive a test file.
 */
export function calmPolling(): void {
  const globals = runInThisContext("globalThis") as typeof globalThis & { headwiseIsCalm?: boolean };
  if (globals.headwiseIsCalm) return;
  globals.headwiseIsCalm = true;
  const { setImmediate: soon } = globals;
  const word = new Int32Array(new SharedArrayBuffer(4));
  const isNative = (callback: unknown) => String(callback) === "function () { [native code] }";
  const calmly = (callback: () => void, ...rest: []) => {
    if (isNative(callback)) Atomics.wait(word, 0, 0, 0.2);
    return soon(callback, ...rest);
  };
  globals.setImmediate = calmly as unknown as typeof setImmediate;
}
