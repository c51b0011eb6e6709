import { Validator, type OutputUnit, type Schema } from "@cfworker/json-schema";

import schema from "../../../../../tests/bench/schema/headwise-bench.json" with { type: "json" };
import { beginningOf } from "../../../model/graphemes.js";
import { t } from "../../../texts/t.js";

export interface BenchDevice {
  readonly id: string;
  readonly cpu?: string;
  readonly cores?: number;
  readonly system?: string;
  readonly load?: number;
  readonly runtime: { readonly name: string; readonly version?: string };
  readonly gpu?: { readonly name: string; readonly software: boolean };
}

export interface BenchEngine {
  readonly id: string;
  readonly library: string;
  readonly version: string;
  readonly backend: "wasm" | "webgpu" | "native";
  readonly variant?: string;
  readonly threads?: number;
}

export interface BenchShape {
  readonly id: string;
  readonly group: string;
  readonly operations: number;
  readonly bytes: number;
}

/** One of shape × engine × device, by their ids. */
export interface Place {
  readonly device: string;
  readonly engine: string;
  readonly shape: string;
}

export interface BenchMeasurement extends Place {
  readonly form?: string;
  /** Milliseconds of a call. */
  readonly samples: readonly number[];
  /** Floating-point operations and bytes a second. */
  readonly roofline: { readonly operations: number; readonly bytes: number };
}

/** A document of the format headwise-bench, which tests/bench/schema/headwise-bench.json describes. */
export interface BenchDocument {
  readonly format: "headwise-bench";
  readonly version: 1;
  readonly date: string;
  readonly command: string;
  readonly note?: string;
  readonly headwise: { readonly version: string; readonly commit?: string };
  readonly unit: "ms";
  readonly devices: readonly BenchDevice[];
  readonly engines: readonly BenchEngine[];
  readonly shapes: readonly BenchShape[];
  readonly measurements: readonly BenchMeasurement[];
  readonly missing: readonly (Place & { readonly reason: string })[];
}

/** A document with the name of its file. */
export interface BenchFile {
  readonly name: string;
  readonly document: BenchDocument;
}

/** A file that is refused. The message names the file, the field and the rule. */
export class BenchFileError extends Error {
  override readonly name = "BenchFileError";
}

/** Larger files are refused before they are read. */
export const MOST_BYTES = 4_000_000;

const FORMAT = "headwise-bench";
const VERSION = 1;
const LISTS = ["devices", "engines", "shapes"] as const;
const HOW = t`The commands bench and gpu:proof write this format with --json.`;
/** How much of a wrong value a message repeats. */
const LONGEST_VALUE = 60;

const validator = new Validator(schema as Schema, "7");

/** Reads the text of a file. */
export function readBench(name: string, text: string): BenchDocument {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BenchFileError(t`${name} is not JSON. ${HOW}`);
  }
  return checked(name, value);
}

/** Checks a value against the format: what it says it is, then its fields, then whether its ids belong together. */
export function checked(name: string, value: unknown): BenchDocument {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new BenchFileError(t`${name} is not an object of the format “${FORMAT}”. ${HOW}`);
  const { format, version } = value as Partial<Record<string, unknown>>;
  if (format !== FORMAT)
    throw new BenchFileError(t`${name}: the field format must be “${FORMAT}”, and is ${quoted(format)}. ${HOW}`);
  if (version !== VERSION)
    throw new BenchFileError(t`${name}: the field version must be ${VERSION}, and is ${quoted(version)}. This page reads version ${VERSION} only.`); // oxfmt-ignore
  const { valid, errors } = validator.validate(value);
  const error = errors.at(-1); // the innermost
  if (!valid && error) throw new BenchFileError(fault(name, value, error));
  const document = value as unknown as BenchDocument;
  checkIds(name, document);
  return document;
}

function fault(name: string, document: object, { keyword, instanceLocation, error }: OutputUnit): string {
  const path = instanceLocation.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~")); // oxfmt-ignore
  const field = path.reduce((text, part) => (/^\d+$/.test(part) ? `${text}[${part}]` : `${text}${text && "."}${part}`), ""); // oxfmt-ignore
  const found = path.reduce<unknown>((value, part) => (value as Record<string, unknown> | undefined)?.[part], document);
  const at = field ? t`${name}: the field ${shortened(field)}` : t`${name}: the document`;
  if (keyword === "false") return t`${at} is not one of the format.`;
  if (keyword === "required") return t`${at} is incomplete. ${shortened(error, 200)}`;
  if (typeof found === "object") return t`${at} is wrong. ${shortened(error, 200)}`;
  return t`${at} is ${quoted(found)}. ${shortened(error, 200)}`;
}

/** Every id names one thing, and every measurement names things that are there. */
function checkIds(name: string, document: BenchDocument): void {
  const known = new Map(LISTS.map((list) => [list, new Set<string>()]));
  for (const list of LISTS)
    for (const [n, { id }] of document[list].entries()) {
      if (known.get(list)!.has(id)) throw new BenchFileError(t`${name}: the field ${`${list}[${n}].id`} is ${quoted(id)}, which another one has too.`); // oxfmt-ignore
      known.get(list)!.add(id);
    }
  const seen = new Set<string>();
  for (const list of ["measurements", "missing"] as const)
    for (const [n, place] of document[list].entries()) {
      for (const of of LISTS) {
        const part = of.slice(0, -1) as keyof Place;
        if (!known.get(of)!.has(place[part])) throw new BenchFileError(t`${name}: the field ${`${list}[${n}].${part}`} is ${quoted(place[part])}, which is not in the list ${of}.`); // oxfmt-ignore
      }
      if (seen.has(keyOf(place))) throw new BenchFileError(t`${name}: the field ${`${list}[${n}]`} repeats a shape, engine and device that stand before it.`); // oxfmt-ignore
      seen.add(keyOf(place));
    }
}

export const keyOf = ({ device, engine, shape }: Place): string => JSON.stringify([device, engine, shape]);

function quoted(value: unknown): string {
  if (value === undefined) return t`missing`;
  return typeof value === "string" ? `“${shortened(value)}”` : shortened(JSON.stringify(value));
}

/** Without characters that would change how the rest of a message is read. */
function shortened(text: string, longest = LONGEST_VALUE): string {
  const plain = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
  return plain.length > longest ? `${beginningOf(plain, longest)}…` : plain;
}
