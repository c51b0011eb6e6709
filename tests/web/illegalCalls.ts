import type { Tensor } from "headwise";

import type { Lengths } from "./illegalRows.js";
import { illegalSettings } from "./illegalSettings.js";
import type { Call } from "./randomCalls.js";

/** A way to make a legal call illegal, and what the error must say. */
export interface Breakage {
  readonly what: string;
  readonly error: "ShapeError" | "OptionError" | "UnsupportedError";
  /** What the message must name in addition to the operation. */
  readonly names: RegExp | string;
  /** The illegal call; undefined if this call cannot be made illegal in this way. */
  readonly breakCall: (call: Call) => Call | undefined;
}

function option(name: string, value: unknown, names = new RegExp(name)): Breakage {
  return {
    what: `${name} = ${String(value)}`,
    error: "OptionError",
    names,
    breakCall: (call) => withOptions(call, { [name]: value }),
  };
}

function withOptions(call: Call, options: Record<string, unknown>): Call {
  return { ...call, options: { ...call.options, ...options } };
}

function withTensor(call: Call, name: "query" | "key" | "value", tensor: unknown): Call {
  return { ...call, [name]: tensor };
}

function reshaped({ data }: Tensor, shape: readonly number[]): Tensor {
  const length = shape.reduce((product, extent) => product * extent, 1);
  return { data: new (data.constructor as Float32ArrayConstructor)(length), shape };
}

const TENSORS = ["query", "key", "value"] as const;

/** The ways to break a single rule. They work with any other options of the call. */
export const breakages: readonly Breakage[] = [
  ...TENSORS.flatMap((name): Breakage[] => [
    {
      what: `${name} has a data length that its shape does not`,
      error: "ShapeError",
      names: new RegExp(`${name}.*length`),
      breakCall: (call) => {
        const { data, shape } = call[name];
        const grown = [...shape.slice(0, -1), shape.at(-1)! + 1];
        return shape.slice(0, -1).includes(0) ? undefined : withTensor(call, name, { data, shape: grown });
      },
    },
    {
      what: `${name} has rank 5`,
      error: "ShapeError",
      names: new RegExp(`(?=.*${name}).*rank`),
      breakCall: (call) => withTensor(call, name, reshaped(call[name], [1, 1, 1, 1, 1])),
    },
    {
      what: `${name} has rank 1`,
      error: "ShapeError",
      names: new RegExp(`(?=.*${name}).*rank`),
      breakCall: (call) => withTensor(call, name, reshaped(call[name], [4])),
    },
    {
      what: `${name} has a fractional extent`,
      error: "ShapeError",
      names: new RegExp(`${name}\\.shape\\[0\\].*1\\.5`),
      breakCall: (call) => withTensor(call, name, { ...call[name], shape: [1.5, ...call[name].shape.slice(1)] }),
    },
    {
      what: `${name} is no tensor`,
      error: "OptionError",
      names: new RegExp(`${name}.*tensor`),
      breakCall: (call) => withTensor(call, name, "123"),
    },
    {
      what: `${name} holds doubles`,
      error: "OptionError",
      names: new RegExp(`${name}.*Float64Array`),
      breakCall: (call) => withTensor(call, name, { ...call[name], data: new Float64Array(call[name].data.length) }),
    },
    {
      what: `${name} holds booleans`,
      error: "OptionError",
      names: new RegExp(`${name}.*bool`),
      breakCall: (call) => withTensor(call, name, { ...call[name], data: new Uint8Array(call[name].data.length) }),
    },
  ]),
  ...illegalSettings.map(({ name, what, error, message, value }): Breakage => ({
    what,
    error,
    names: message,
    breakCall: (call) => {
      const illegal = isRagged(call) && name.endsWith("Lengths") ? undefined : value(lengthsOf(call));
      return illegal === undefined ? undefined : withOptions(call, { [name]: illegal });
    },
  })),
  option("layout", "BSDH", /layout.*BSDH/),
  option("window", { lef: 1 }, /lef.*left/),
  option("cuasal", true, /cuasal.*causal/),
  option("returns", { prob: true }, /prob.*probs/),
  option("returns", { topK: 0 }, /topK/),
  option("returns", { topK: { heads: [0] } }, /topK\.k/),
  option("returns", { scores: "cooked" }, /scores.*cooked/),
  option("returns", { probs: { heads: [99] } }, /heads.*99/),
  option("returns", { probs: { queries: [-1] } }, /queries.*-1/),
  option("returns", { lse: "yes" }, /lse.*yes/),
  option("signal", "now"),
  option("cuSeqLensQuery", [0.5], /cuSeqLens/),
  option("cuSeqLensQuery", null, /cuSeqLensQuery must be a list of numbers, got null/),
  option("cuSeqLensKey", null, /cuSeqLensKey must be a list of numbers, got null/),
  {
    what: "numHeads that the query does not have",
    error: "ShapeError",
    names: /numHeads/,
    breakCall: (call) => (call.query.shape.length > 2 ? withOptions(call, { numHeads: 101 }) : undefined),
  },
  {
    what: "numKvHeads that the key does not have",
    error: "ShapeError",
    names: /numKvHeads/,
    breakCall: (call) => (call.query.shape.length > 2 ? withOptions(call, { numKvHeads: 103 }) : undefined),
  },
  {
    what: "numHeads of 0",
    error: "OptionError",
    names: /numHeads.*0/,
    breakCall: (call) => withOptions(call, { numHeads: 0 }),
  },
  ...["keyLengths", "queryLengths"].map((name): Breakage => ({
    what: `${name} beside cuSeqLens`,
    error: "OptionError",
    names: new RegExp(name),
    breakCall: (call) => (isRagged(call) ? withOptions(call, { [name]: [1] }) : undefined),
  })),
];

function isRagged({ options }: Call): boolean {
  return options.cuSeqLensQuery !== undefined;
}

/** Of a call that is not ragged. */
function lengthsOf(call: Call): Lengths {
  return { batchSize: batchOf(call), numHeads: headsOf(call) };
}

function batchOf({ query: { shape }, options: { layout } }: Call): number {
  const fullRank = layout === "BSE" || layout === "BES" ? 3 : 4;
  return shape.length === fullRank ? shape[0]! : 1;
}

function headsOf({ query: { shape }, options: { layout, numHeads } }: Call): number {
  if (shape.length === 2) return 1;
  if (numHeads !== undefined) return numHeads;
  return layout === "BSHD" ? shape.at(-2)! : shape.at(-3)!;
}
