import type { Attention } from "headwise";
import { inspectModel, type LoadProgress } from "headwise/models";

import { gpt2Files } from "../../train/gpt2Files.js";
import { asParameters } from "../../train/model.js";
import { REPEAT_CHARACTERS } from "../../train/repeat.js";
import { readStored } from "../../train/storedWeights.js";
import { afterMessages } from "./afterMessages.js";
import { asFailure } from "./asFailure.js";
import { HubFiles } from "./hubFiles.js";
import { openAttention } from "./openAttention.js";
import type { ModelReply, ModelRequest } from "./modelProtocol.js";
import type { EngineChoice } from "./protocol.js";
import { ReadModel, type NamedFiles } from "./readModel.js";
import { TroubleError } from "./trouble.js";

/** The part of a worker's global scope that is used here. TypeScript's DOM types describe a window. */
interface WorkerScope {
  postMessage(message: ModelReply): void;
  onmessage: ((event: MessageEvent<ModelRequest>) => void) | null;
}

/** Not `self.location`: in a sandbox that is a data URL. A constant, because the bundler would resolve it. */
const HERE = import.meta.url;
/** The page hears of the loading, and of a study, at most so often. */
const TELL_MS = 50;
const GIB = 2 ** 30;

const scope = self as unknown as WorkerScope;
const say = (reply: ModelReply) => scope.postMessage(reply);

/** What was planned, until it is loaded. */
let planned: { readonly hw: Attention; readonly files: NamedFiles; readonly hub?: HubFiles };
let model: ReadModel;
let turn: Promise<unknown> = Promise.resolve();
/** The study that the page waits for. */
let studied: number;

scope.onmessage = ({ data }) => {
  if (data.kind === "study") void study(data);
  else inTurn(() => answer(data)).catch((error: unknown) => say({ kind: "failed", reason: asFailure(error) }));
};

/** Does one thing after the other. */
function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const result = turn.then(work);
  turn = result.catch(() => undefined);
  return result;
}

/** Other requests are answered between two heads. */
async function study({ id, order }: Extract<ModelRequest, { kind: "study" }>): Promise<void> {
  studied = id;
  if (!order) return;
  try {
    const steps = model.study(order);
    for (let told = -Infinity; ; await afterMessages()) {
      const { value: found } = await inTurn(() => steps.next());
      if (id !== studied || !found) return;
      const isDone = found.without.length === found.layers * found.heads;
      if (!isDone && performance.now() - told < TELL_MS) continue;
      told = performance.now();
      say({ kind: "studied", id, study: found });
    }
  } catch (error) {
    say({ kind: "unstudied", id, reason: asFailure(error) });
  }
}

async function answer(request: Exclude<ModelRequest, { kind: "study" }>): Promise<void> {
  switch (request.kind) {
    case "plan":
      return plan(request);
    case "open":
      return open(request);
    case "see":
      return say({ kind: "seen", seen: await model.see(request.order) });
    case "check":
      return say({ kind: "checked", differences: await model.check(request.order, request.place) });
    default:
      request satisfies never;
  }
}

async function plan({ from, engine }: Extract<ModelRequest, { kind: "plan" }>): Promise<void> {
  if (from && "name" in from) {
    const hub = new HubFiles(from);
    return hub.explained(async () => planFiles(await hub.open(), engine, hub));
  }
  return planFiles(from ? from.files : await exampleFiles(), engine);
}

async function planFiles(files: NamedFiles, engine: EngineChoice, hub?: HubFiles): Promise<void> {
  const hw = await openAttention({ ...engine, maximumMemory: memoryFor(files) });
  planned = { hw, files, ...(hub && { hub }) };
  say({ kind: "planned", plan: await inspectModel(files, { hw }) });
}

async function open({ precision }: Extract<ModelRequest, { kind: "open" }>): Promise<void> {
  let told = -Infinity;
  const onProgress = ({ loadedBytes, totalBytes }: LoadProgress) => {
    if (performance.now() - told < TELL_MS) return;
    told = performance.now();
    say({ kind: "progress", loaded: loadedBytes, total: totalBytes });
  };
  const load = () => ReadModel.open(planned.hw, planned.files, { onProgress, precision });
  model = await (planned.hub ? planned.hub.explained(load) : load());
  say({ kind: "opened", facts: model.facts });
}

/** Room for the weights, also where BF16 becomes float32, and for what is computed with them. */
function memoryFor(files: NamedFiles): number {
  const sizes = Object.entries<NamedFiles[string]>(files).map(([name, file]) =>
    name.endsWith(".safetensors") ? ("size" in file ? file.size : file.length) : 0,
  );
  const weights = sizes.reduce((sum, size) => sum + size, 0);
  return Math.min(4 * GIB, GIB + 2 * weights);
}

/** Two layers that have learned to repeat letters, as `npm run train:demo -- --task repeat` made them. */
async function exampleFiles(): Promise<Readonly<Record<string, Uint8Array>>> {
  const [facts, weights] = [await load("repeat.json"), await load("repeat.safetensors")];
  const { heads, context } = (await facts.json()) as { readonly heads: number; readonly context: number };
  const parameters = asParameters(readStored(new Uint8Array(await weights.arrayBuffer())));
  return gpt2Files(parameters, { heads, length: context, characters: REPEAT_CHARACTERS });
}

async function load(name: string): Promise<Response> {
  const response = await fetch(new URL(`../decoders/${name}`, HERE));
  if (response.ok) return response;
  throw new TroubleError({ kind: "file", of: "example", name, why: response.status });
}
