import { execFile } from "node:child_process";
import { promisify } from "node:util";

import { describe, expect, test } from "@jest/globals";

import { COMMAND, runDemo, serveDemo } from "./demoCommand.js";

interface DemoJson {
  readonly sentences: readonly {
    readonly text: string;
    readonly tokens: readonly string[];
    readonly embedding: readonly number[];
    readonly probs: readonly (readonly (readonly (readonly number[])[])[])[];
  }[];
  readonly report: { readonly backend: string; readonly variant: string; readonly threads: number };
}

describe("--json", () => {
  test("prints one JSON value and nothing else", async () => {
    const texts = ["One sentence.", "日本 — “two” \u001b[31m"];
    const { code, stdout, stderr } = await runDemo([
      "--json",
      "--no-serve",
      ...texts.flatMap((text) => ["--text", text]),
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });

    const { sentences, report } = JSON.parse(stdout) as DemoJson;
    expect(report).toMatchObject({ backend: "wasm", threads: expect.any(Number) });
    expect(sentences.map(({ text }) => text)).toEqual(texts);
    for (const { tokens, embedding, probs } of sentences) {
      expect(embedding).toHaveLength(512);
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
      expect(probs.map((heads) => heads.length)).toEqual([4, 4]);
      for (const head of probs.flat()) {
        expect(head).toHaveLength(tokens.length);
        for (const row of head) {
          expect(row).toHaveLength(tokens.length);
          expect(row.reduce((sum, prob) => sum + prob, 0)).toBeCloseTo(1, 5);
        }
      }
    }
  });

  test("an empty text has no tokens and no rows", async () => {
    const { stdout } = await runDemo(["--json", "--no-serve", "--text", ""]);
    const [sentence] = (JSON.parse(stdout) as DemoJson).sentences;
    expect(sentence).toMatchObject({
      text: "",
      tokens: [],
      probs: [
        [[], [], [], []],
        [[], [], [], []],
      ],
    });
  });

  test("positions, threads and variant are obeyed", async () => {
    const args = ["--json", "--no-serve", "--no-positions", "--threads", "1", "--variant", "simd"];
    const { sentences, report } = JSON.parse((await runDemo([...args, "--text", "park the park"])).stdout) as DemoJson;
    expect(report).toMatchObject({ variant: "simd", threads: 1 });
    for (const head of sentences[0]!.probs.flat()) expect(head[2]).toEqual(head[0]);
  });
});

test("the default sentences tell their story, without colour in a pipe", async () => {
  const { code, stdout } = await runDemo(["--no-serve"]);
  expect(code).toBe(0);
  expect(stdout).toContain("▁They ▁decided ▁to ▁park ▁the ▁car ▁in ▁the ▁park .");
  expect(stdout.match(/^Layer [12]$/gm)).toEqual(["Layer 1", "Layer 2", "Layer 1", "Layer 2"]);
  expect(stdout).toMatch(/head 1: .+ → .+ \d+\u00a0%/);
  expect(stdout).toMatch(/With positions the two rows differ by up to \d+\u00a0%; without, by 0:/);
  expect(stdout).toMatch(/phone → RAM +RAM → phone\nlayer 1 head 1 +-?\d+\.\d\d/);
  expect(stdout).toContain("Similarity of the sentences");
  expect(stdout).toMatch(/^headwise .+: wasm, variant (simd|relaxed), \d+ threads?$/m);
  expect(stdout).not.toContain("\x1b");
});

test("one token is one token", async () => {
  expect((await runDemo(["--no-serve", "--text", "Hi"])).stdout).toContain("\n1 token: ▁Hi ");
});

test("FORCE_COLOR colours a pipe, NO_COLOR wins over it", async () => {
  const args = ["--no-serve", "--text", "Hi."];
  expect((await runDemo(args, { FORCE_COLOR: "1" })).stdout).toContain("\x1b[48;2;");
  expect((await runDemo(args, { FORCE_COLOR: "1", NO_COLOR: "1" })).stdout).not.toContain("\x1b");
});

test("a text cannot steer the terminal", async () => {
  expect((await runDemo(["--no-serve", "--text", "a\u001b[2Jb\u0007"])).stdout).not.toMatch(/[^\P{C}\n]/u);
});

test("a misspelt option is refused on stderr, with status 2", async () => {
  const { code, stdout, stderr } = await runDemo(["--txt", "x"]);
  expect({ code, stdout, stderr }).toEqual({
    code: 2,
    stdout: "",
    stderr: "there is no option --txt; did you mean --text?\n--help lists the options.\n",
  });
});

test("--help prints the options and stops", async () => {
  const { code, stdout } = await runDemo(["--help"]);
  expect(code).toBe(0);
  expect(stdout).toContain("--no-serve");
});

test("without --no-serve it serves the page, what the page names, and the model", async () => {
  const server = await serveDemo([]);
  try {
    const page = await (await fetch(server.url)).text();
    const named = Array.from(page.matchAll(/(?:src|href)="\.\/([^"#]+)"/g), ([, file]) => file!);
    expect(named.map((file) => file.replace(/.*\./, ""))).toEqual(expect.arrayContaining(["js", "css"]));
    for (const file of [...named, "model/vocab.json"]) {
      expect({ file, status: (await fetch(server.url + file)).status }).toEqual({ file, status: 200 });
    }
  } finally {
    await server.stop();
  }
});

test("a reader that stops early, as head does, is no fault", async () => {
  const { stdout } = await promisify(execFile)("bash", [
    "-c",
    '"$0" "$1" --json --no-serve --text "$2" 2>&1 | head -c 12; echo " ${PIPESTATUS[0]}"',
    process.execPath,
    COMMAND,
    "word ".repeat(128), // megabytes of JSON, more than the buffer of a pipe holds
  ]);
  expect(stdout).toBe('{"sentences" 0\n');
});
