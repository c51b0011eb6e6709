import { writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";

import { HeadwiseError, createAttention, type Attention, type Report } from "headwise";

import { UsageError } from "../../build/usage.mjs";
import { Encoder, type Encoding } from "../model/encoder.js";
import { headsOf, rowOf } from "../model/heads.js";
import { DEFAULT_SENTENCES, PARK, PHONE } from "../model/story.js";
import { modelFiles } from "./modelFiles.js";
import { HELP, parseOptions, type CliOptions } from "./options.mjs";
import { palette } from "./palette.js";
import { headsPicture } from "./picture.js";
import { directionStory, positionStory, reportLines, sentenceLines, similarityLines, type Look } from "./printout.js";
import { serve } from "./server.js";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(); // the output was closed, as by `head`; exit without an error
});
if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await main(process.argv.slice(2));

/** @param beforeServing - makes the page that is served; the pictures are printed by then */
export async function main(
  args: readonly string[],
  beforeServing: () => Promise<void> = async () => {},
): Promise<void> {
  try {
    const options = parseOptions(args);
    if (options.help) return print([HELP.trimEnd()]);
    await compute(options);
    if (!options.serve) return;
    await beforeServing();
    await servePage(options);
  } catch (error) {
    const [status, explanation] = explained(error);
    process.stderr.write(`${explanation}\n`);
    process.exitCode = status;
  }
}

/** Exit status and text of an error that a user can fix. Any other error is thrown again, with its stack. */
function explained(error: unknown): [status: number, explanation: string] {
  if (error instanceof UsageError) return [2, error.message];
  if (HeadwiseError.is(error)) return [1, [error.message, error.hint ?? ""].join("\n").trimEnd()];
  throw error;
}

async function compute(options: CliOptions): Promise<void> {
  const hw = await createAttention({ backend: "wasm", threads: options.threads, variant: options.variant });
  try {
    const encoder = await Encoder.load(hw, modelFiles);
    if (options.json) await printJson(encoder, hw, options);
    else await printText(encoder, hw, options);
    if (options.picture !== undefined) {
      const encoding = await encoder.encode(sentencesOr(options.texts)[0]!, options);
      await writeFile(options.picture, headsPicture(encoding)).catch((error: NodeJS.ErrnoException) => {
        throw new UsageError(`cannot write --picture ${options.picture} (${error.code})`);
      });
    }
    encoder.dispose();
  } finally {
    hw.dispose();
  }
}

async function printJson(encoder: Encoder, { report }: Attention, { texts, positions }: CliOptions): Promise<void> {
  const sentences = [];
  for (const text of sentencesOr(texts)) sentences.push(sentenceJson(await encoder.encode(text, { positions })));
  print([JSON.stringify({ sentences, report } satisfies { sentences: unknown; report: Report })]);
}

/** probs as nested arrays: [layer][head][query][key]. */
function sentenceJson(encoding: Encoding) {
  const { text, tokens, embedding, layers } = encoding;
  const heads = headsOf(encoding);
  return {
    text,
    tokens,
    embedding: Array.from(embedding),
    probs: layers.map((_, layer) =>
      heads
        .filter((head) => head.layer === layer)
        .map(({ probs }) => tokens.map((_token, query) => Array.from(rowOf(probs, query)))),
    ),
  };
}

async function printText(encoder: Encoder, hw: Attention, { texts, positions }: CliOptions): Promise<void> {
  const look = { palette: palette(colourDepth()), columns: process.stdout.columns || 100 };
  const encodings: Encoding[] = [];
  for (const text of sentencesOr(texts)) {
    const start = performance.now();
    const encoding = await encoder.encode(text, { positions });
    print([...sentenceLines(encoding, performance.now() - start, look), ""]);
    encodings.push(encoding);
  }
  if (texts.length === 0) await printStory(encoder, look);
  if (encodings.length > 1) print([...similarityLines(encodings, look), ""]);
  print(reportLines(hw.report));
}

async function printStory(encoder: Encoder, look: Look): Promise<void> {
  const placed = await encoder.encode(PARK);
  const unplaced = await encoder.encode(PARK, { positions: false });
  print([...positionStory(placed, unplaced, "park", look), ""]);
  print([...directionStory(await encoder.encode(PHONE), "phone", "RAM", look.palette), ""]);
}

async function servePage({ port, isolation, json }: CliOptions): Promise<void> {
  const { hub } = await import("headwise/models"); // it is built by now
  const { url } = await serve({
    port,
    isolation,
    // "Your model" opens models by their names there. The hub sends those who ask for weights on to its stores.
    connect: [new URL(hub("owner/name")).origin, "https://*.hf.co"],
    folders: {
      "/": fileURLToPath(new URL("./page/", import.meta.url)),
      "/model/": fileURLToPath(new URL("./model/", import.meta.url)),
      "/decoders/": fileURLToPath(new URL("./decoders/", import.meta.url)),
    },
  });
  const line = `\nThe same in your browser, with your own sentences: ${url}   (Ctrl+C stops)\n`;
  (json ? process.stderr : process.stdout).write(line);
}

function sentencesOr(texts: readonly string[]): readonly string[] {
  return texts.length > 0 ? texts : DEFAULT_SENTENCES;
}

/** Bits of colour that the terminal has; it respects NO_COLOR. For a file or a pipe 0, unless FORCE_COLOR is set. */
function colourDepth(): number {
  if (process.stdout.isTTY) return process.stdout.getColorDepth();
  const { FORCE_COLOR, NO_COLOR } = process.env;
  return FORCE_COLOR && FORCE_COLOR !== "0" && !NO_COLOR ? 24 : 1;
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.join("\n")}\n`);
}
