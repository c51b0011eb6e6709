import { runInThisContext } from "node:vm";

import { afterAll } from "@jest/globals";

import { watchPipelines } from "./faultyGpu.js";

/** What outlives a test file: a native module sees the globals of the process, not those that Jest gives to a test. */
interface ProcessGlobals {
  setImmediate: typeof setImmediate;
  /** How many kernels are being compiled. */
  headwiseCompiling?: number;
}

const globals = runInThisContext("globalThis") as ProcessGlobals;
/** Milliseconds: most work of a test takes less than one. To compile a kernel takes hundreds. */
const [SHORT, LONG] = [0.2, 4];

/**
 * The package webgpu asks its driver for news in every turn of the event loop, by setImmediate, as long as anything is
 * under way. On a software adapter that takes as much of the processor as what it waits for. So it waits a little before
 * it asks, and longer while a kernel is compiled.
 */
export function calmPolling(): void {
  countCompiling();
  if (globals.headwiseCompiling !== undefined) return;
  globals.headwiseCompiling = 0;
  const { setImmediate: soon } = globals;
  const word = new Int32Array(new SharedArrayBuffer(4));
  const isNative = (callback: unknown) => String(callback) === "function () { [native code] }";
  const calmly = (callback: () => void, ...rest: []) => {
    if (isNative(callback)) Atomics.wait(word, 0, 0, globals.headwiseCompiling! > 0 ? LONG : SHORT);
    return soon(callback, ...rest);
  };
  globals.setImmediate = calmly as unknown as typeof setImmediate;
}

function countCompiling(): void {
  const restore = watchPipelines((compiling) => {
    globals.headwiseCompiling! += 1;
    const end = () => void (globals.headwiseCompiling! -= 1);
    compiling.then(end, end);
  });
  afterAll(restore);
}
