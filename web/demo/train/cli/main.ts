import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setImmediate as eventsHandled } from "node:timers/promises";

import { Presets, SingleBar } from "cli-progress";
import { createAttention, HeadwiseError, type Attention } from "headwise";

import { UsageError } from "../../../build/usage.mjs";
import { asParameters, Model } from "../model.js";
import { readStored, storeWeights } from "../storedWeights.js";
import { Characters } from "../characters.js";
import { storyText, unseenStories } from "../storyFigures.js";
import { repeatTask, storyTask, sumsTask, textTask, type Figures, type Task } from "../tasks.js";
import { corpusOf, partsOf, type Corpus } from "../text.js";
import { BREAK } from "../../stories/words.js";
import { Checkpoint } from "./checkpoint.js";
import { HELP, parseTrainOptions, type TrainOptions } from "./options.mjs";
import { Training } from "./training.js";

/** Downloads and checkpoints, outside of git. */
const KEPT = "build/trainDemo";

const SECONDS_BETWEEN_CHECKPOINTS = 60;
const SECONDS_BETWEEN_MEASUREMENTS = 300;

/** Characters of held-out text that go with the weights, for the room to read. */
const SAMPLE = 1500;
/** Held-out stories that go with them. */
const SAMPLE_STORIES = 6;
const SAMPLE_SEED = 3_000_001;

await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<void> {
  try {
    const options = parseTrainOptions(args);
    if (options.help) process.stdout.write(HELP);
    else await trainAndWrite(options);
  } catch (error) {
    if (error instanceof UsageError) say(error.message);
    else if (HeadwiseError.is(error)) say(`${error.message}\n${error.hint}`);
    else throw error;
    process.exitCode = 1;
  }
}

async function trainAndWrite(options: TrainOptions): Promise<void> {
  const data = dataOf(options);
  const { architecture, batchSize, learningRate, optimizer, deviation, aside } = data.task;
  const settings = { architecture, batchSize, learningRate, optimizer, deviation, aside };
  const checkpoint = new Checkpoint(KEPT, options.task, { ...settings, seed: options.seed, text: options.text });
  const hw = await createAttention({ backend: "wasm", threads: options.threads });
  try {
    const training = await Training.open(hw, data.task, options, checkpoint);
    say(`${data.source}. ${training.size} parameters, ${hw.report.threads} threads.`);
    if (await ranToTheEnd(training)) await write(hw, training, data, options);
    else say("Stopped. The same command goes on from here.");
  } finally {
    hw.dispose();
  }
}

interface Data {
  readonly task: Task;
  readonly source: string;
  /** Held-out text for the room; only for text. */
  readonly sample: string | undefined;
}

function dataOf({ task, text }: TrainOptions): Data {
  if (task === "sums")
    return { task: sumsTask(), source: "Sums of two numbers of one to three digits", sample: undefined };
  if (task === "repeat")
    return { task: repeatTask(), source: "Letters in random order, each once, that are repeated", sample: undefined };
  if (text === undefined) {
    const sample = unseenStories(SAMPLE_STORIES, SAMPLE_SEED).map(storyText).join("\n");
    return { task: storyTask(), source: "Stories that a grammar writes", sample };
  }
  const corpus = ownCorpus(text);
  return { task: textTask(corpus), source: path.basename(text), sample: corpus.heldOut.join("\n\n").slice(0, SAMPLE) };
}

function ownCorpus(file: string): Corpus {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new UsageError(`--text ${file} cannot be read: ${(cause as Error).message}`);
  }
  const corpus = corpusOf(partsOf(text));
  if (corpus.heldOut.length > 0) return corpus;
  throw new UsageError(`--text ${file} is too short: a model needs at least 50,000 characters to learn from`);
}

/** Trains, with checkpoints, until the budget is used. false: it was interrupted. */
async function ranToTheEnd(training: Training): Promise<boolean> {
  let interrupted = false;
  const interrupt = () => void (interrupted = true);
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  const format = "{bar} {percentage} % | {minutes} min | step {step} | loss {loss} | on unseen data: {figures}";
  const bar = new SingleBar(
    { format, stream: process.stderr, noTTYOutput: true, notTTYSchedule: 60_000 },
    Presets.legacy,
  );
  bar.start(1, training.progress, { minutes: 0, step: training.steps, loss: "–", figures: "–" });
  let [saved, measured] = [training.seconds, training.seconds];
  let figures = "–";
  while (training.progress < 1 && !interrupted) {
    await training.step();
    await eventsHandled(); // a step waits for promises only, so signals and timers would never get their turn
    if (training.seconds - saved >= SECONDS_BETWEEN_CHECKPOINTS) {
      saved = training.seconds;
      training.save();
    }
    if (training.seconds - measured >= SECONDS_BETWEEN_MEASUREMENTS) {
      measured = training.seconds;
      figures = figureText(await training.task.measure(training.model, true));
    }
    const minutes = (training.seconds / 60).toFixed(1);
    bar.update(training.progress, { minutes, step: training.steps, loss: training.loss!.toFixed(3), figures });
  }
  training.save();
  bar.stop();
  process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  return !interrupted;
}

/** Writes the weights, and beside them what they are and what they can do. */
async function write(hw: Attention, training: Training, data: Data, options: TrainOptions) {
  const { kind, architecture, vocabulary } = data.task;
  const bytes = storeWeights(training.parameters);
  const model = await Model.create(hw, architecture, asParameters(readStored(bytes)));
  say("Measuring the weights as they are stored …");
  const figures = await data.task.measure(model, false);
  model.dispose();
  const { layers, heads, width, feedForward, position, length: context } = architecture;
  const { heads: worth, ...known } = figures;
  const facts = {
    kind,
    ...(vocabulary instanceof Characters ? { characters: vocabulary.all } : { words: vocabulary.tokens }),
    ...{ layers, heads, width, feedForward, position, context },
    ...(kind === "text" && { sample: data.sample }),
    ...(figures.stories && { start: BREAK, end: BREAK }),
    ...(kind === "sums" && { end: "\n", reversed: true }),
    source: data.source,
    command: commandOf(options),
    seed: options.seed,
    steps: training.steps,
    figures: {
      ...known,
      ...(worth && { withoutHead: worth }),
      parameters: training.size,
      minutes: Number((training.seconds / 60).toFixed(1)),
    },
  };
  mkdirSync(options.out, { recursive: true });
  const file = path.join(options.out, kind);
  writeFileSync(`${file}.safetensors`, bytes);
  writeFileSync(`${file}.json`, `${JSON.stringify(facts, undefined, 2)}\n`);
  say(`${file}.safetensors (${(bytes.length / 1e6).toFixed(2)} MB): ${figureText(figures)}`);
}

/** The command that trains the same model, without options that change only where and how fast. */
function commandOf({ task, text, budget, seed }: TrainOptions): string {
  const ended = "steps" in budget ? `--steps ${budget.steps}` : `--minutes ${budget.minutes}`;
  const file = text === undefined ? "" : ` --text ${path.basename(text)}`;
  return `npm run train:demo -- --task ${task}${file} ${ended} --seed ${seed}`;
}

function figureText({ natsPerCharacter, exact, copied, stories }: Figures): string {
  if (stories) {
    const shares = Object.entries(stories.choices).map(([kind, share]) => `${kind} ${percent(share)}`);
    const { parse, true: isTrue } = stories.written;
    return `${stories.natsPerWord.toFixed(3)} nats a word; ${shares.join(", ")}; sentences that parse ${percent(parse)}, true ${percent(isTrue)}`;
  }
  if (natsPerCharacter !== undefined) return `${natsPerCharacter.toFixed(3)} nats for each character`;
  return exact === undefined
    ? `${(100 * copied!).toFixed(2)} % of the repeated letters expected`
    : `${(100 * exact).toFixed(2)} % of the sums exact`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
