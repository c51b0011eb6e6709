import { parseArgs } from "node:util";

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

/** The command is wrong. The message says what to type instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export const HELP = `See what the heads of a real transformer attend to, computed by headwise.

  npm start -- [options]

  --text "…"        a sentence to read; repeat it to compare several
  --no-positions    do not tell the model where each word stands
  --threads N       worker threads (default: as many as the machine has)
  --variant NAME    simd or relaxed (default: the best that runs here)
  --no-serve        print and stop, instead of serving the page
  --port N          where to serve the page (default 8080, or the next free one)
  --no-isolation    serve without COOP/COEP, as on a host whose headers you cannot set
  --picture FILE    also write the heads of the first sentence as an SVG picture
  --json            print { sentences, report } as JSON and nothing else
  --help            this text
`;

const FLAGS = {
  text: { type: "string", multiple: true },
  json: { type: "boolean" },
  "no-serve": { type: "boolean" },
  "no-isolation": { type: "boolean" },
  "no-positions": { type: "boolean" },
  picture: { type: "string" },
  port: { type: "string" },
  threads: { type: "string" },
  variant: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

const VARIANTS = ["auto", "simd", "relaxed"] as const;
const DEFAULT_PORT = 8080;

/** The flags after the check that each one that needs a value has one. */
type CheckedValues = Readonly<Partial<Record<"picture" | "port" | "threads" | "variant", string>>> & {
  readonly text?: readonly string[];
};

export function parseOptions(args: readonly string[]): CliOptions {
  const { values, tokens } = parseArgs({ args: [...args], options: FLAGS, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind === "positional") {
      throw new UsageError(`"${token.value}" stands alone; write --text "${token.value}"`);
    }
    if (token.kind === "option") checkFlag(token.name, token.rawName, token.value);
  }
  const { text, picture, port, threads, variant } = values as CheckedValues;
  return {
    texts: text ?? [],
    json: values.json === true,
    serve: values["no-serve"] !== true,
    isolation: values["no-isolation"] !== true,
    positions: values["no-positions"] !== true,
    picture,
    port: port === undefined ? DEFAULT_PORT : integer("--port", port, 0, 65_535),
    threads: threads === undefined || threads === "auto" ? "auto" : integer("--threads", threads, 1, 1024),
    variant: variantNamed(variant ?? "auto"),
    help: values.help === true,
  };
}

function checkFlag(name: string, rawName: string, value: string | undefined): void {
  const flag = Object.hasOwn(FLAGS, name) ? FLAGS[name as keyof typeof FLAGS] : undefined;
  if (!flag)
    throw new UsageError(`there is no option ${rawName}; did you mean --${nearest(name, Object.keys(FLAGS))}?`);
  if (flag.type === "string" && value === undefined) throw new UsageError(`${rawName} needs a value`);
  if (flag.type === "boolean" && value !== undefined) throw new UsageError(`${rawName} takes no value`);
}

function integer(flag: string, value: string, least: number, most: number): number {
  const number = /^\d+$/.test(value) ? Number(value) : NaN;
  if (number >= least && number <= most) return number;
  throw new UsageError(`${flag} must be a whole number from ${least} to ${most}, got "${value}"`);
}

function variantNamed(value: string): CliOptions["variant"] {
  const known = VARIANTS.find((name) => name === value);
  if (known) return known;
  throw new UsageError(`--variant must be one of ${VARIANTS.join(", ")}, got "${value}"`);
}

function nearest(word: string, candidates: readonly string[]): string {
  return candidates.reduce((best, next) => (editDistance(word, next) < editDistance(word, best) ? next : best));
}

/** The Levenshtein distance: the fewest characters to insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
