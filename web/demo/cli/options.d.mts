export interface CliOptions {
  readonly texts: readonly string[];
  readonly json: boolean;
  readonly serve: boolean;
  /** The file for an SVG of the first sentence's heads. */
  readonly picture: string | undefined;
  readonly isolation: boolean;
  readonly positions: boolean;
  readonly port: number;
  readonly threads: number | "auto";
  readonly variant: "auto" | "simd" | "relaxed";
  readonly help: boolean;
}

export const HELP: string;

/** @throws UsageError if an argument is wrong. */
export function parseOptions(args: readonly string[]): CliOptions;
