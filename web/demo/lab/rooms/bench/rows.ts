import { quantile } from "../../../../../tests/bench/harness/statistics.mjs";
import { counted } from "../../shell/numbers.js";
import { isBusy } from "./completeness.js";
import type { BenchEngine, BenchFile, BenchMeasurement, BenchShape } from "./benchFile.js";

/** One of shape × engine × device, as the files have measured it. */
export interface Row {
  readonly file: string;
  readonly device: string;
  /** Without its version: the same in all files. */
  readonly engine: string;
  readonly version: string;
  readonly shape: string;
  readonly samples: readonly number[];
  /** Milliseconds of a call. */
  readonly median: number;
  /** The first and the third quartile. */
  readonly low: number;
  readonly high: number;
  /** The share of the largest speed that the probes of the same run allow. */
  readonly roof: number;
  /** Whether other programs used the device, so that its times are not to be trusted. */
  readonly busy: boolean;
}

/** "headwise · wasm · relaxed · 2 threads": the same in every language, because the address and saved files hold it. */
export function engineName({ library, backend, variant, threads }: BenchEngine): string {
  const parts = [
    library,
    backend,
    variant,
    threads === undefined ? undefined : threads === 1 ? "1 thread" : `${threads.toLocaleString("en")} threads`,
  ];
  return parts.filter((part) => part !== undefined).join(" · ");
}

/** The name of an engine as the page says it. */
export function engineWords(name: string): string {
  return name.replace(/\b([\d,]+) threads?$/, (_, count: string) =>
    counted(Number(count.replaceAll(",", "")), "thread"),
  );
}

/** Rows of all files, by shape in the order of the files. */
export function rowsOf(files: readonly BenchFile[]): Row[] {
  const rows = files.flatMap((file) => fileRows(file, files));
  const shapes = [...new Set(rows.map(({ shape }) => shape))];
  return shapes.flatMap((shape) => rows.filter((row) => row.shape === shape));
}

function fileRows({ name, document }: BenchFile, files: readonly BenchFile[]): Row[] {
  const engines = new Map(document.engines.map((engine) => [engine.id, engine]));
  const shapes = new Map(document.shapes.map((shape) => [shape.id, shape]));
  const busy = new Set(document.devices.filter(isBusy).map(({ id }) => id));
  return document.measurements.map((measurement) => {
    const engine = engines.get(measurement.engine)!;
    const shape = shapes.get(measurement.shape)!;
    const { samples } = measurement;
    const median = quantile(samples, 0.5);
    return {
      ...{ file: name, device: deviceLabel(measurement.device, name, files) },
      ...{ engine: engineName(engine), version: engine.version, shape: shapeLabel(shape, files) },
      ...{ samples, median, low: quantile(samples, 0.25), high: quantile(samples, 0.75) },
      roof: leastTime(shape, measurement) / median,
      busy: busy.has(measurement.device),
    };
  });
}

/** A device of several files has the name of the file beside its own. */
function deviceLabel(device: string, file: string, files: readonly BenchFile[]): string {
  const others = files.some(({ name, document }) => name !== file && document.devices.some(({ id }) => id === device));
  return others ? `${device} (${file})` : device;
}

/** Two shapes of one name whose work differs are two shapes. */
function shapeLabel({ id, operations, bytes }: BenchShape, files: readonly BenchFile[]): string {
  const first = files.flatMap(({ document }) => document.shapes).find((shape) => shape.id === id)!;
  if (first.operations === operations && first.bytes === bytes) return id;
  return `${id} (${operations.toLocaleString("en")} operations, ${bytes.toLocaleString("en")} bytes)`;
}

/** The milliseconds that the roofline allows. */
function leastTime({ operations, bytes }: BenchShape, { roofline }: BenchMeasurement): number {
  return 1e3 * Math.max(operations / roofline.operations, bytes / roofline.bytes);
}
