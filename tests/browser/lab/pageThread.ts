import type { Page } from "playwright-core";

import { note } from "../../web/figures.js";

/** An event of Chromium's trace. `tdur` is the time of the processor, in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/** Times of the processor in milliseconds, so that other programs on the machine do not make them longer. */
export interface ThreadTimes {
  /** All tasks of the page's own thread. */
  readonly page: number;
  /** All tasks of the page's workers. */
  readonly workers: number;
  /** The longest task of the page's own thread. */
  readonly longest: number;
}

/**
 * What the page's threads do while `work` runs. No test asserts a time: the longest task is a figure, and a warning if
 * it is above its goal.
 */
export async function threadTimes(
  page: Page,
  name: string,
  goal: number,
  work: () => Promise<void>,
): Promise<ThreadTimes> {
  const events = await traced(page, work);
  const thread = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const timesOf = (pattern: RegExp) => {
    const isNamed = ({ name: event, args }: TraceEvent) => event === "thread_name" && pattern.test(args.name ?? "");
    const threads = new Set(events.filter(isNamed).map(thread));
    const tasks = events.filter((event) => event.name.endsWith("RunTask") && threads.has(thread(event)));
    return tasks.map(({ tdur = 0 }) => tdur / 1000);
  };
  const sum = (times: readonly number[]) => times.reduce((total, time) => total + time, 0);
  const own = timesOf(/^CrRendererMain$/);
  if (own.length === 0) throw new Error("the trace has no tasks of the page");
  const times = { page: sum(own), workers: sum(timesOf(/^DedicatedWorker/)), longest: Math.max(...own) };
  note(name, times.longest);
  if (times.longest > goal)
    process.stderr.write(
      `WARNING: ${name}: the longest task of the page took ${times.longest.toFixed(0)} ms, goal ${goal} ms\n`,
    );
  return times;
}

async function traced(page: Page, work: () => Promise<void>): Promise<TraceEvent[]> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  const complete = new Promise<void>((resolve) => session.once("Tracing.tracingComplete", () => resolve()));
  const includedCategories = ["toplevel", "__metadata"];
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories } });
  await work();
  await session.send("Tracing.end");
  await complete;
  await session.detach();
  return events;
}
