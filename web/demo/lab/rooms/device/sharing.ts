import { CASES, type BenchFigure } from "../../engine/bench.js";

/** The result of one run, and the device. */
export interface BenchResult {
  readonly device: string;
  readonly date: string;
  readonly figures: readonly BenchFigure[];
}

/** A result as text for the address. */
export function packResult(result: BenchResult): string {
  return JSON.stringify(result, (_, value: unknown) =>
    typeof value === "number" ? Number(value.toPrecision(4)) : value,
  );
}

/** Reads the text of packResult; undefined if it is other text. */
export function unpackResult(text: string): BenchResult | undefined {
  if (text === "") return undefined;
  try {
    const result = JSON.parse(text) as Partial<BenchResult>;
    const isWhole =
      typeof result.device === "string" &&
      typeof result.date === "string" &&
      Array.isArray(result.figures) &&
      result.figures.every(({ engine, times }) => typeof engine === "object" && Array.isArray(times));
    return isWhole ? (result as BenchResult) : undefined;
  } catch {
    return undefined;
  }
}

/** A table in Markdown. */
export function markdown({ device, date, figures }: BenchResult): string {
  const head = ["engine", ...CASES.map(({ name }) => name)];
  const rows = figures.map(({ engine, refusal, times }) => {
    const name = engineName(engine);
    return refusal ? [name, refusal] : [name, ...times.map((time) => `${time.toPrecision(3)} ms`)];
  });
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [`headwise on ${device}, ${date}`, "", line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

export function engineName({ backend, variant, threads }: BenchFigure["engine"]): string {
  if (backend === "webgpu") return "WebGPU";
  return `wasm · ${variant} · ${threads} ${threads === 1 ? "thread" : "threads"}`;
}
