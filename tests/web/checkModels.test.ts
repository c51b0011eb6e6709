// The script that checks models of a hub, with a server that behaves like one.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

import { serveModel, type ModelServer } from "./modelServer.js";
import { CONFIGS, filesOf, randomWeights, shapesOf } from "./smallModels.js";

const NAME = "someone/small-gpt2";
const filesOfSeed = (seed: number) => filesOf(CONFIGS.gpt2, randomWeights(shapesOf("gpt2"), seed));

describe("npm run check:models", () => {
  let server: ModelServer;
  let folder: string;
  beforeAll(async () => {
    server = await serveModel(filesOfSeed(1));
    folder = mkdtempSync(path.join(tmpdir(), "headwise-models-"));
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const list = () => path.join(folder, "models.json");
  const known = () => (JSON.parse(readFileSync(list(), "utf8")) as Record<string, Record<string, unknown>>)[NAME]!;
  const check = (...args: string[]) =>
    new Promise<{ status: number; output: string }>((resolve) => {
      const all = ["tests/models/check.mjs", `--host=${server.url}`, `--models=${list()}`, ...args];
      execFile(process.execPath, all, (error, output) => resolve({ status: Number(error?.code ?? 0), output }));
    });

  test("says what is not yet known, records it, agrees with it, and fails where a model gives something else", async () => {
    writeFileSync(list(), JSON.stringify({ [NAME]: { tokens: [1, 2, 3] } }));
    const first = await check("--record");
    expect(first.output).toMatch(
      /gpt2, \d+ parameters, as .*\n {2}parameters \d+: not yet known\n {2}next \[.*\]: not yet known/,
    );
    expect(first.status).toBe(0);
    expect(known()).toMatchObject({ tokens: [1, 2, 3], parameters: expect.any(Number), next: expect.any(Array) });

    const second = await check();
    expect(second.output).toMatch(/parameters \d+: as known\n {2}next \[.*\]: as known\n\n1 of 1 models agree/);
    expect(second.status).toBe(0);

    server.files = filesOfSeed(2);
    const third = await check("--record");
    expect(third.output).toMatch(/next \[.*\]: but known is \[.*\]\n\n0 of 1 models agree/);
    expect(third.status).toBe(1);
  });

  test("a model that is not in the list, or not on the hub, fails by itself", async () => {
    writeFileSync(list(), JSON.stringify({ [NAME]: { tokens: [1] } }));
    const { output, status } = await check(`--only=no/such,${NAME}`);
    expect(output).toMatch(/no\/such\n {2}failed: it is not in .*, which has someone\/small-gpt2\n/);
    expect(output).toMatch(/\n\n1 of 2 models agree/);
    expect(status).toBe(1);
    server.files = {};
    expect(await check()).toMatchObject({
      status: 1,
      output: expect.stringContaining("failed: openModel: there is no config.json"),
    });
  });
});
