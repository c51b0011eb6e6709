import { expect, test } from "@jest/globals";

import { HELP, parseOptions } from "../../web/demo/cli/options.mjs";

test("without options: the default sentences, in text, then the page", () => {
  expect(parseOptions([])).toEqual({
    texts: [],
    json: false,
    serve: true,
    picture: undefined,
    isolation: true,
    positions: true,
    port: 8080,
    threads: "auto",
    variant: "auto",
    help: false,
  });
});

test("every option is understood", () => {
  const args =
    "--text one --text=two --picture heads.svg --json --no-serve --no-isolation --no-positions --port 0 --threads 3 --variant simd -h";
  expect(parseOptions(args.split(" "))).toEqual({
    texts: ["one", "two"],
    json: true,
    serve: false,
    picture: "heads.svg",
    isolation: false,
    positions: false,
    port: 0,
    threads: 3,
    variant: "simd",
    help: true,
  });
});

test.each([
  [["--tex", "x"], "there is no option --tex; did you mean --text?"],
  [["--noserve"], "there is no option --noserve; did you mean --no-serve?"],
  [["--constructor"], "there is no option --constructor; did you mean"],
  [["Hello there"], '"Hello there" stands alone; write npm start -- --text "Hello there"'],
  [["--text"], "--text needs a value"],
  [["--json=yes"], "--json takes no value"],
  [["--threads", "0"], '--threads must be a whole number from 1 to 1024, got "0"'],
  [["--threads", "two"], '--threads must be a whole number from 1 to 1024, got "two"'],
  [["--port", "70000"], '--port must be a whole number from 0 to 65535, got "70000"'],
  [["--port", ""], '--port must be a whole number from 0 to 65535, got ""'],
  [["--variant", "fast"], '--variant must be one of auto, simd, relaxed, got "fast"'],
])("%j is refused with what to type instead", (args, message) => {
  expect(() => parseOptions(args)).toThrow(message);
});

test("the help names every option that exists", () => {
  for (const flag of [
    "text",
    "json",
    "no-serve",
    "no-isolation",
    "no-positions",
    "port",
    "threads",
    "variant",
    "help",
  ]) {
    expect(HELP).toContain(`--${flag} `);
  }
});
