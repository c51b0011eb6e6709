import type { Page } from "playwright-core";

/** An event of Chromium's trace. `tdur` is the time of the processor, in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/**
 * The longest task of the page's own thread while `work` runs, in milliseconds of processor time. Other programs on the
 * machine make a task wait, but do not make it longer.
 */
export async function longestTask(page: Page, work: () => Promise<void>): Promise<number> {
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
  const thread = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const pages = new Set(
    events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(thread),
  );
  const tasks = events.filter((event) => event.name.endsWith("RunTask") && pages.has(thread(event)));
  if (tasks.length === 0) throw new Error("the trace has no tasks of the page");
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000;
}
