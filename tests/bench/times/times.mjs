// Times of other things than calls: ends, rejections, delays in a page. No test asserts any of them.

import { isChosen } from "../harness/cases.mjs";
import { summary } from "../harness/statistics.mjs";
import { openPages, PAGE_CASES } from "./pages.mjs";
import { openProcesses, PROCESS_CASES } from "./processes.mjs";

const GROUP = "times";

/**
 * @param {{ filter: string, rounds: number, node?: number }} options
 * @param {(message: { note?: string, record?: object }) => void} report
 * @returns the browser's name, if there was one
 */
export async function measureTimes({ filter, rounds, node }, report) {
  const chosen = (cases) => cases.filter(({ name }) => isChosen({ name, group: GROUP }, { filter }));
  const measure = async (cases, open) => {
    if (cases.length === 0) return undefined;
    const engine = await open();
    try {
      for (const each of cases) report(await recordOf(each, engine, rounds));
    } finally {
      await engine.close();
    }
    return engine.name;
  };
  await measure(chosen(PROCESS_CASES), () => openProcesses(node));
  return measure(chosen(PAGE_CASES), openPages).catch((error) => {
    report({ note: `no pages: ${error.message}` });
    return undefined;
  });
}

/** The first sample is a warm-up and does not count. */
async function recordOf({ name, goal, open }, engine, rounds) {
  try {
    const { sample, close } = await open(engine);
    try {
      await sample();
      const samples = [];
      for (let round = 0; round < rounds; ++round) samples.push(await sample());
      const { median, spread } = summary(samples);
      return { record: { case: name, group: GROUP, goal, milliseconds: median, spread } };
    } finally {
      await close?.();
    }
  } catch (error) {
    return { note: `${name}: ${error.message}` };
  }
}
