// Finds how a peer computes a case.

import { checkRows } from "../harness/reference.mjs";

/** Finds the fastest form in which a peer computes the case. */
export async function preparePeers(peers, problem, rows) {
  const entries = [];
  const notRun = {};
  for (const { name, forms } of peers) {
    const failures = [];
    let best;
    for (const { form, open } of await forms(problem).catch((error) => [
      { form: "", open: () => Promise.reject(error) },
    ]))
      try {
        const opened = await open();
        await opened.call();
        checkRows(rows, await opened.rows(), true);
        const milliseconds = await timed(opened.call);
        if (best && best.milliseconds <= milliseconds) opened.release();
        else {
          best?.release();
          best = { name, form, milliseconds, ...opened };
        }
      } catch (error) {
        failures.push(`${form}: ${error.message.slice(0, 200)}`);
      }
    if (best) entries.push(best);
    else notRun[name] = failures.join("; ");
  }
  return { entries, notRun };
}

/** Milliseconds of one call. */
export async function timed(call) {
  const start = performance.now();
  await call();
  return performance.now() - start;
}
