/** A row of the bench table: which case on which engine. */
export interface BenchOrder {
  readonly engines: readonly BenchEngine[];
}
export interface BenchEngine {
  readonly backend: "wasm" | "webgpu";
  readonly variant: "simd" | "relaxed" | "wgsl";
  readonly threads: number;
}
export interface BenchFigure {
  readonly engine: BenchEngine;
}
export function bench(
  _order: BenchOrder,
  _onProgress: (what: string, done: number, total: number) => void,
): Promise<BenchFigure[]> {
  return Promise.resolve([]);
}
