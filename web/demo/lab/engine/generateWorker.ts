import type { Attention } from "headwise";

import { Decoder } from "../../generate/decoder.js";
import { readDecoder, tokensOf } from "../../generate/decoderFile.js";
import { unseenStories } from "../../train/storyFigures.js";
import { afterMessages } from "./afterMessages.js";
import { asFailure } from "./asFailure.js";
import { Experimenter } from "./experimenter.js";
import { openAttention } from "./openAttention.js";
import type { DecoderName, Endless, GenerateReply, GenerateRequest } from "./generateProtocol.js";
import { PronounAsker } from "./pronounStudy.js";
import { endlessText, Writer } from "./writer.js";
import { TroubleError } from "./trouble.js";

/** The part of a worker's global scope that is used here. TypeScript's DOM types describe a window. */
interface WorkerScope {
  postMessage(message: GenerateReply): void;
  onmessage: ((event: MessageEvent<GenerateRequest>) => void) | null;
}

/** Not `self.location`: in a sandbox that is a data URL. A constant, because the bundler would resolve it. */
const HERE = import.meta.url;
/** The page hears of new tokens at most so often. */
const TELL_MS = 60;
/** In so many stories heads are asked what the pronouns mean. */
const ASKED_STORIES = 30;

const scope = self as unknown as WorkerScope;
const say = (reply: GenerateReply) => scope.postMessage(reply);

let decoder: Decoder;
let writer: Writer | undefined;
/** The number of the beginning that is written from. */
let beginning = 0;
/** Counts what the page has asked for. What is written or read on ends when something else is asked for. */
let asked = 0;
let turn = Promise.resolve();

scope.onmessage = ({ data }) => {
  const order = data.kind === "take" || data.kind === "check" || data.kind === "try" ? asked : ++asked;
  turn = turn
    .then(() => answer(data, () => order !== asked))
    .catch((error: unknown) => say({ kind: "failed", reason: asFailure(error) }));
};

async function answer(request: GenerateRequest, isOver: () => boolean): Promise<void> {
  switch (request.kind) {
    case "open":
      return open(request.decoder, await openAttention(request.engine));
    case "begin":
      writer?.dispose();
      beginning = request.beginning;
      writer = undefined;
      writer = await Writer.begin(decoder, request.writing);
      return tell(true);
    case "take":
      if (writer) writer.taking = request.taking;
      return;
    case "choose":
      await writer!.write(request.token);
      return tell(true);
    case "write":
      return write(request.tokens, isOver);
    case "stop":
      return tell(true);
    case "endless":
      return endless(request, isOver);
    case "ask":
      return say({ kind: "asked", study: await pronounStudy(writer!.written.tokens, isOver) });
    case "try":
      return say({ kind: "tried", result: await new Experimenter(decoder, request.order.taking).run(request.order) });
    case "check":
      return say({ kind: "checked", differences: await writer!.check() });
    default:
      request satisfies never;
  }
}

async function open(name: DecoderName, hw: Attention): Promise<void> {
  const [config, weights] = [await load(`${name}.json`), await load(`${name}.safetensors`)];
  const file = readDecoder(await config.json(), new Uint8Array(await weights.arrayBuffer()));
  decoder = await Decoder.create(hw, file);
  say({ kind: "opened", config: file.config, threads: hw.report.threads });
}

async function load(name: string): Promise<Response> {
  const response = await fetch(new URL(`../decoders/${name}`, HERE));
  if (response.ok) return response;
  throw new TroubleError({ kind: "file", of: "decoder", name, why: response.status });
}

async function write(tokens: number, isOver: () => boolean): Promise<void> {
  let since = performance.now();
  for (let count = 0; count < tokens && !isOver() && !writer!.isAtEnd; count++) {
    await writer!.write();
    if (performance.now() - since > TELL_MS) {
      tell(false);
      since = performance.now();
    }
    await afterMessages();
  }
  tell(true);
}

function tell(isDone: boolean): void {
  if (writer) say({ kind: "written", beginning, written: writer.written, isDone });
}

function pronounStudy(text: Int32Array, isOver: () => boolean) {
  // The first of the stories in which the decoder's figures were measured.
  const stories = unseenStories(ASKED_STORIES, decoder.config.figures.stories!.seed).map(({ words }) => words);
  return new PronounAsker(decoder).study(stories, text, async () => {
    await afterMessages();
    return isOver();
  });
}

async function endless(
  { window, keepFirst }: Extract<GenerateRequest, { kind: "endless" }>,
  isOver: () => boolean,
): Promise<void> {
  const { config } = decoder;
  const tokens = tokensOf(config.sample ?? "", config);
  let latest: Endless = { whole: [], sinks: [], window: [], group: 1 };
  for await (const found of endlessText(decoder, tokens, { window, keepFirst })) {
    if (isOver()) break;
    say({ kind: "endless", endless: (latest = found), isDone: false });
    await afterMessages();
  }
  say({ kind: "endless", endless: latest, isDone: true });
}
