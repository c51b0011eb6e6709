import { CASES, engineName, type BenchFigure } from "../../engine/bench.js";
import { significant } from "../../shell/numbers.js";
import type { BenchResult } from "./benchResult.js";
import { coverage } from "./words.js";
import { t } from "../../../texts/t.js";

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
      isOptional(result.cancelledOf) &&
      Array.isArray(result.figures) &&
      (result.figures as readonly Partial<BenchFigure>[]).every(isFigure);
    return isWhole ? (result as BenchResult) : undefined;
  } catch {
    return undefined;
  }
}

function isFigure({ engine, times, refusal, error, roof, bandwidth }: Partial<BenchFigure>): boolean {
  return (
    typeof engine === "object" &&
    (engine.backend === "wasm" || engine.backend === "webgpu") &&
    typeof engine.variant === "string" &&
    Number.isInteger(engine.threads) &&
    (refusal === undefined || typeof refusal === "string") &&
    (error === undefined || (typeof error === "number" && error >= 0)) &&
    isOptional(roof) &&
    isOptional(bandwidth) &&
    Array.isArray(times) &&
    times.length <= CASES.length &&
    times.every(isPositive)
  );
}

const isPositive = (value: unknown) => typeof value === "number" && value > 0 && Number.isFinite(value);
const isOptional = (value: unknown) => value === undefined || isPositive(value);

/** A table in Markdown. */
export function markdown(result: BenchResult): string {
  const { device, date, figures } = result;
  const head = [t`engine`, ...CASES.map(({ name }) => name)];
  const rows = figures.map(({ engine, refusal, times }) => {
    const name = engineName(engine);
    if (refusal !== undefined) return [name, refusal];
    return [name, ...CASES.map((_, index) => (times[index] === undefined ? "" : `${significant(times[index])} ms`))];
  });
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const about = t`headwise on ${device}, ${date}`;
  const title = result.cancelledOf === undefined ? about : `${about}; ${coverage(result)}`;
  return [title, "", line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
