// Figures that tests measure for `npm run trust`. No test asserts a time; a row of the table shows the largest one.

import { appendFileSync } from "node:fs";

const file = process.env["HEADWISE_FIGURES"];

/** Notes a number under a name, as a line of JSON, if the environment names a file for it. */
export function note(name: string, value: number): void {
  if (file) appendFileSync(file, `${JSON.stringify({ name, value })}\n`);
}

/** What `work` gives. Notes how long it took, in milliseconds. */
export async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const begin = performance.now();
  try {
    return await work();
  } finally {
    note(name, performance.now() - begin);
  }
}
