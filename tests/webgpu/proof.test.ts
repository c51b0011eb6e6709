import { expect, test } from "@jest/globals";
import Ajv from "ajv";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { describeOnGpu } from "./gpu.js";
import { CHROMIUM_FLAG } from "./softwareAdapter.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const COMMAND = path.resolve(HERE, "../bench/proof/proof.mjs");
const SCHEMA = path.resolve(HERE, "../bench/proof/schema.json");

/** One case of each variant always runs. In the page there is also time for some speed and for what "auto" chooses. */
const quick = (minutes: number) => ["--quick", "--minutes", String(minutes)];

const ORT = path.resolve(HERE, "../bench/node_modules/onnxruntime-web");

interface Record {
  readonly host: { readonly name: string };
  readonly missingPeers: object;
  readonly adapter: { readonly software: boolean };
  readonly table: readonly { readonly ran: number; readonly right: number; readonly wrong: readonly object[] }[];
}

const run = promisify(execFile);

function expectAllRight(file: string, host: string): readonly Record[] {
  const proof = JSON.parse(readFileSync(file, "utf8")) as { hosts: Record[] };
  const validate = new Ajv().compile(JSON.parse(readFileSync(SCHEMA, "utf8")) as object);
  void validate(proof);
  expect(validate.errors).toBeNull();
  expect(proof.hosts.map(({ host: { name } }) => name.split(" ")[0])).toEqual([host]);
  for (const { table } of proof.hosts) {
    expect(table.length).toBeGreaterThan(0);
    for (const { ran, right, wrong } of table) {
      expect(wrong).toEqual([]);
      expect(ran).toBeGreaterThan(0);
      expect(right).toBe(ran);
    }
  }
  return proof.hosts;
}

/** The packed folder has this machine's Node, so it is made for Linux on x64 only. There it is what runs in Node. */
const isPackable = process.platform === "linux" && process.arch === "x64";

describeOnGpu("npm run gpu:proof -- --quick", () => {
  test.each(isPackable ? ["Chromium"] : ["Node", "Chromium"])(
    "finds every case right in %s, and writes what its schema says",
    async (host) => {
      const folder = mkdtempSync(path.join(tmpdir(), "headwise-proof-"));
      const file = path.join(folder, "proof.json");
      const options = ["--built", ...quick(0.2), "--hosts", host.toLowerCase(), "--save", file];
      const env = { ...process.env, HEADWISE_CHROMIUM_FLAGS: CHROMIUM_FLAG };
      const { stdout } = await run(process.execPath, [COMMAND, ...options], { env });
      for (const { adapter } of expectAllRight(file, host))
        if (adapter.software) expect(stdout).toContain("This proves correctness only");
      rmSync(folder, { recursive: true });
    },
  );
});

describeOnGpu("npm run gpu:proof -- --pack", () => {
  const claim =
    "writes a folder of at most 45 MB that finds every case right in Node without this repository, and writes what its schema says";
  (isPackable ? test : test.skip)(isPackable ? claim : `${claim} (skipped: not on Linux on x64)`, async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headwise-pack-"));
    await run(process.execPath, [COMMAND, "--built", "--pack", folder]);
    const sizes = readdirSync(folder).map((name) => statSync(path.join(folder, name)).size);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThanOrEqual(45e6);
    const env = { PATH: "/usr/bin:/bin", HOME: folder };
    const { stdout } = await run(path.join(folder, "run"), quick(0.01), { cwd: folder, env });
    for (const { adapter, missingPeers } of expectAllRight(path.join(folder, "gpu-proof.json"), "Node")) {
      if (adapter.software) expect(stdout).toContain("This proves correctness only");
      expect(Object.keys(missingPeers)).toEqual(existsSync(ORT) ? [] : ["ort"]);
    }
    rmSync(folder, { recursive: true });
  });
});
