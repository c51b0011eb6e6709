// What headwise says in Node if its worker, or a thread of it, does not start.

import { copyFileSync, cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

import { assetErrorLike } from "./assetErrorLike.js";
import { runProgram, runWith } from "./programs.js";

const dist = fileURLToPath(new URL("../../dist/", import.meta.url));
const SCRIPT = "worker-entry.node.js";

describe("the script of the worker", () => {
  let folder: string;
  let entry: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "headwise-script-"));
    for (const name of readdirSync(dist).filter((file) => /^(worker\.node|part-.*)\.js$/.test(file)))
      copyFileSync(path.join(dist, name), path.join(folder, name));
    cpSync(path.join(dist, "wasm"), path.join(folder, "wasm"), { recursive: true });
    writeFileSync(path.join(folder, "package.json"), '{ "type": "module" }');
    entry = pathToFileURL(path.join(folder, "worker.node.js")).href;
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("is missing: the error has its path and says what to do", async () => {
    expect(await runProgram("started", entry)).toEqual(
      assetErrorLike(
        "ASSET_NOT_FOUND",
        /^createAttention: the engine's worker did not start: file:\S+worker-entry\.node\.js failed: Error: Cannot find module/,
        /^Check that this file is there/,
      ),
    );
  });

  test.each([
    ["throws", 'throw new Error("of the script")', /failed: Error: of the script$/],
    ["is no script", "<!doctype html>", /failed: SyntaxError: /],
    ["ends", "process.exit(3)", /failed: it ended with code 3$/],
  ])("%s: the error says so", async (_, source, message) => {
    writeFileSync(path.join(folder, SCRIPT), source);
    expect(await runProgram("started", entry)).toEqual(
      assetErrorLike("ASSET_INVALID", message, /^Check that this file is there/),
    );
  });
});

describe("Node's permission model", () => {
  const permission = Number(process.versions.node.split(".")[0]) < 24 ? "--experimental-permission" : "--permission";
  const flags = ["--no-warnings", permission, "--allow-fs-read=*"];

  test("without --allow-worker: headwise/worker says so and how to allow workers", async () => {
    expect(await runWith(flags, "started", "headwise/worker")).toEqual(
      assetErrorLike(
        "ASSET_BLOCKED",
        /the engine's worker did not start: .*access.*restricted/i,
        /permission model.*--allow-worker/,
      ),
    );
  });

  test("without --allow-worker: headwise has one thread and says why", async () => {
    const reason = expect.stringMatching(/permission model forbids workers: start Node with --allow-worker/);
    expect(await runWith(flags, "started", "headwise")).toEqual({ threads: 1, reason });
  });

  test("without --allow-fs-read for a folder: the error says so and how to allow it", async () => {
    const here = `--allow-fs-read=${fileURLToPath(new URL("../../", import.meta.url))}`;
    expect(await runWith(["--no-warnings", permission, here], "started", "headwise", tmpdir())).toEqual(
      assetErrorLike("ASSET_BLOCKED", /headwise\.\w+\.wasm could not be read/, /permission model.*--allow-fs-read/),
    );
  });

  test.each(["headwise", "headwise/worker"])("with --allow-worker: %s has threads", async (entry) => {
    expect(await runWith([...flags, "--allow-worker"], "started", entry)).toMatchObject({
      threads: expect.any(Number),
    });
  });
});
