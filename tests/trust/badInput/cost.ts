// What a call costs: time, and memory of JavaScript.

import { MOST_BYTES, MOST_MILLISECONDS } from "./limits.js";

/**
 * Starts to measure. `tooMuch` says what has been too much since then, or undefined.
 *
 * A busy machine makes the time of a clock longer, and other threads the time of the processor: the shorter of both counts.
 */
export function measureCost(): { readonly tooMuch: () => string | undefined } {
  const bytes = bytesInUse();
  const cpu = process.cpuUsage();
  const clock = performance.now();
  return {
    tooMuch() {
      const { user, system } = process.cpuUsage(cpu);
      const milliseconds = Math.min(performance.now() - clock, (user + system) / 1000);
      if (milliseconds > MOST_MILLISECONDS) return `it takes ${Math.round(milliseconds)} ms`;
      const more = bytesInUse() - bytes;
      return more > MOST_BYTES ? `it takes ${Math.round(more / 2 ** 20)} MiB` : undefined;
    },
  };
}

function bytesInUse(): number {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
