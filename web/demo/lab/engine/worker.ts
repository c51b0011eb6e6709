import type { Attention } from "headwise";

import { anatomyOf } from "../../model/anatomy.js";
import { Encoder } from "../../model/encoder.js";
import { t } from "../../texts/t.js";
import { bench } from "./bench.js";
import { asFailure } from "./asFailure.js";
import { openAttention } from "./openAttention.js";
import { exactLayers } from "./exactLayers.js";
import { filesAt } from "./modelFiles.js";
import type { EngineChoice, JobName, Jobs, Reply, Request } from "./protocol.js";

/** The part of a worker's global scope that is used here. TypeScript's DOM types describe a window. */
interface WorkerScope {
  postMessage(message: Reply): void;
  onmessage: ((event: MessageEvent<Request>) => void) | null;
}

/** Not `self.location`: in a sandbox that is a data URL. A constant, because the bundler would resolve it. */
const HERE = import.meta.url;

const scope = self as unknown as WorkerScope;
const say = (reply: Reply) => scope.postMessage(reply);

let benching: AbortController | undefined;
let engine: Promise<Attention> | undefined;
/** The encoders, from the first call that needs them. One that could not be loaded is forgotten. */
const encoders: { headwise?: Promise<Encoder>; exact?: Promise<Encoder> } = {};
const modelFiles = filesAt(new URL("../model/", HERE));

scope.onmessage = ({ data }) => {
  if (data.kind === "open") open(data.choice);
  else if (data.kind === "cancelBench") benching?.abort();
  else void answer(data);
};

function open(choice: EngineChoice): void {
  engine = openAttention(choice);
  engine.then(
    ({ report }) => say({ kind: "report", report }),
    (error: unknown) => say({ kind: "unusable", reason: asFailure(error) }),
  );
}

async function answer({ id, name, takes }: Extract<Request, { kind: "job" }>): Promise<void> {
  try {
    const hw = await engine!;
    const job = jobs[name] as (hw: Attention, takes: Jobs[JobName]["takes"]) => Promise<Timed<Jobs[JobName]["gives"]>>;
    say({ kind: "done", id, ...(await job(hw, takes)) });
  } catch (error) {
    say({ kind: "failed", id, reason: asFailure(error) });
  }
}

interface Timed<T> {
  readonly gives: T;
  /** The time of the computation only, without loading and messages. */
  readonly milliseconds: number;
}
type Work = {
  readonly [Name in JobName]: (hw: Attention, takes: Jobs[Name]["takes"]) => Promise<Timed<Jobs[Name]["gives"]>>;
};

const jobs: Work = {
  attention: (hw, { query, key, value, options }) =>
    timed(() => hw.scaledDotProductAttention(query, key, value, options)),

  async layer(hw, { layer: options, x, options: call }) {
    const layer = await hw.multiHeadAttention(options);
    try {
      return await timed(() => layer.forward(x, call));
    } finally {
      layer.dispose();
    }
  },

  rotary: (hw, { x, options }) => timed(() => hw.rotaryEmbedding(x, options)),

  async encode(hw, { texts, options, exact = false }) {
    const ready = await encoder(hw, exact);
    return timed(async () => {
      const encodings = [];
      for (const text of texts) encodings.push(await ready.encode(text, options));
      return encodings;
    });
  },

  async anatomy(hw, { text, options, exact = false }) {
    const ready = await encoder(hw, exact);
    return timed(async () => anatomyOf(await ready.encode(text, { ...options, inside: true })));
  },

  bench(_, order) {
    const { signal } = (benching = new AbortController());
    const tell = (what: string, done: number, total: number) => say({ kind: "progress", what, done, total, unit: "" });
    return timed(() => bench(order, tell, signal));
  },
};

async function timed<T>(work: () => Promise<T>): Promise<Timed<T>> {
  const start = performance.now();
  const gives = await work();
  return { gives, milliseconds: performance.now() - start };
}

function encoder(hw: Attention, exact: boolean): Promise<Encoder> {
  const kind = exact ? "exact" : "headwise";
  return (encoders[kind] ??= load(exact ? exactLayers : hw).catch((error: unknown) => {
    delete encoders[kind];
    throw error;
  }));
}

function load(hw: Parameters<typeof Encoder.load>[0]): Promise<Encoder> {
  return Encoder.load(hw, modelFiles, (loaded, total) => {
    say({ kind: "progress", what: t`Loading the model`, done: loaded / 1e6, total: total / 1e6, unit: "MB" });
  });
}
