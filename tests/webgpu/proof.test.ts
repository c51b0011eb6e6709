import { expect, test } from "@jest/globals";
import Ajv from "ajv";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { describeOnGpu } from "./gpu.js";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const COMMAND = path.resolve(HERE, "../bench/proof/proof.mjs");
const SCHEMA = path.resolve(HERE, "../bench/proof/schema.json");

interface Record {
  readonly host: { readonly name: string };
  readonly adapter: { readonly software: boolean };
  readonly table: readonly { readonly ran: number; readonly right: number; readonly wrong: readonly object[] }[];
}

describeOnGpu("npm run gpu:proof -- --quick", () => {
  test("finds every case right that it has time for, in Node and in Chromium, and writes what its schema says", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headwise-proof-"));
    const file = path.join(folder, "proof.json");
    const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, "--built", "--quick", "--save", file]);
    const proof = JSON.parse(readFileSync(file, "utf8")) as { hosts: Record[] };
    rmSync(folder, { recursive: true });

    const validate = new Ajv().compile(JSON.parse(readFileSync(SCHEMA, "utf8")) as object);
    void validate(proof);
    expect(validate.errors).toBeNull();
    expect(proof.hosts.map(({ host }) => host.name.split(" ")[0])).toEqual(["Node", "Chromium"]);
    for (const { adapter, table } of proof.hosts) {
      expect(table.length).toBeGreaterThan(0);
      for (const { ran, right, wrong } of table) {
        expect(wrong).toEqual([]);
        expect(ran).toBeGreaterThan(0);
        expect(right).toBe(ran);
      }
      if (adapter.software) expect(stdout).toContain("This proves correctness only");
    }
  });
});
