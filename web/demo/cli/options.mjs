// The options of `npm start`. They are read before anything is built, so this is no TypeScript.

import { fileToWrite, oneOf, readOptions, wholeNumber } from "../../build/usage.mjs";

export const HELP = `See what the heads of a real transformer attend to, computed by headwise.

  npm start -- [options]

  --text TEXT       a sentence to read; repeat it to compare several
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

const VARIANTS = ["auto", "simd", "relaxed"];
const DEFAULT_PORT = "8080";

/** @type {typeof import("./options.d.mts").parseOptions} */
export function parseOptions(args) {
  const values = readOptions(HELP, args, { repeated: "text", likely: "text" });
  const { text = [], picture, port = DEFAULT_PORT, threads = "auto", variant = "auto" } = values;
  return {
    texts: text,
    json: values.json === true,
    serve: values["no-serve"] !== true,
    isolation: values["no-isolation"] !== true,
    positions: values["no-positions"] !== true,
    picture: picture === undefined ? undefined : fileToWrite("--picture", picture),
    port: wholeNumber("--port", port, 0, 65_535),
    threads: threads === "auto" ? "auto" : wholeNumber("--threads", threads, 1, 1024),
    variant: oneOf("--variant", variant, VARIANTS),
    help: values.help === true,
  };
}
