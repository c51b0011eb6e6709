import { readFileSync } from "node:fs";

import { describe, expect, test } from "@jest/globals";
import Ajv from "ajv";

import { BenchFile } from "./schema/benchFile.mjs";
import { commandOf } from "./schema/command.mjs";
import { fromBench } from "./schema/fromBench.mjs";
import { fromProof } from "./schema/fromProof.mjs";
import { engineOf } from "./schema/libraries.mjs";

const SCHEMA = JSON.parse(readFileSync(new URL("schema/headwise-bench.json", import.meta.url), "utf8"));
const validate = new Ajv().compile(SCHEMA);
const faults = (document) => (validate(JSON.parse(JSON.stringify(document))) ? null : validate.errors);
const ids = (document, list) => document[list].map(({ id }) => id);

const record = (name, more = {}) => ({
  ...{ case: name, group: "dense", operations: 1e6, bytes: 1e5, samples: [1, 2, 3], notRun: {} },
  ...{ roofline: { gflops: 2, gigabytes: 3 }, inside: { samples: [0.5, 0.6] } },
  peers: { ort: { samples: [4, 5], form: "MultiHeadAttention" } },
  ...more,
});

const saved = (runs, more = {}) => ({
  ...{ date: "2026-01-02T03:04:05.000Z", commit: "abc", load: 0.2, options: { peers: ["ort", "jax"] } },
  ...{ machine: { cpu: "A CPU", cores: 2, engine: "Node 20.1.0" }, runs },
  ...more,
});

const wasm = (...records) => ({ name: "relaxed SIMD, 1 thread", variant: "relaxed", threads: 1, records });

describe("the file of npm run bench", () => {
  const document = fromBench(saved([wasm(record("a"), record("b", { notRun: { jax: "too\nslow" } }))]), []);

  test("is what the schema describes", () => expect(faults(document)).toBeNull());

  test("has every sample of headwise, of its own tensors and of peers, with the roofline of the case", () => {
    const [own, inside, ort] = document.measurements;
    expect([own.samples, inside.samples, ort.samples, ort.form]).toEqual([
      ...[[1, 2, 3], [0.5, 0.6], [4, 5]], // oxfmt-ignore
      "MultiHeadAttention",
    ]);
    expect(own.roofline).toEqual({ operations: 2e9, bytes: 3e9 });
  });

  test("says why a peer is missing, without characters that the schema refuses", () => {
    expect(document.missing.map(({ shape, reason }) => [shape, reason])).toEqual([
      ["a", "it does not run here"],
      ["b", "too slow"],
    ]);
  });

  test("has no times of other things than calls, and nothing that was measured once", () => {
    const times = { name: "times", records: [{ case: "exit", milliseconds: 1 }] };
    const once = record("memory", { samples: undefined });
    expect(ids(fromBench(saved([wasm(record("a"), once), times]), []), "shapes")).toEqual(["a"]);
  });

  test("says that the machine was busy", () => {
    expect(document.note).toBeUndefined();
    expect(fromBench(saved([wasm(record("a"))], { load: 7 }), []).note).toBe(
      "The machine was busy: load 7.0 on 2 cores.",
    );
  });

  test("of WebGPU names the adapter, and has the rates of its probes", () => {
    const adapter = { vendor: "v", architecture: "a", description: "d", fallback: true };
    const machine = {
      cpu: "A CPU",
      cores: 2,
      engine: "Chromium 141.0",
      adapter,
      rates: { f32: 5e9, f16: 7e9, copy: 6e9 },
    };
    const records = [false, true].map((half) =>
      record(`half ${half}`, { half, roofline: undefined, inside: undefined }),
    );
    const gpu = fromBench(saved([{ name: "WebGPU", records }], { machine }), []);
    expect(faults(gpu)).toBeNull();
    expect(gpu.devices[0].gpu).toEqual({ name: "v a d", software: true });
    expect(gpu.engines[0]).toMatchObject({ library: "headwise", backend: "webgpu" });
    const own = gpu.measurements.filter(({ engine }) => engine === gpu.engines[0].id);
    expect(own.map(({ roofline }) => roofline.operations)).toEqual([5e9, 7e9]);
  });

  test("is not written if nothing was measured", () => {
    expect(() => fromBench(saved([]), [])).toThrow("--json: nothing was measured");
  });
});

describe("the file of npm run gpu:proof", () => {
  const about = {
    ...{ date: "2026-01-02T03:04:05.000Z", command: "npm run gpu:proof", headwise: { version: "1.0.0" } },
    engineOf: (peer) => engineOf(peer, { backend: "webgpu" }),
  };
  const speed = (name, tiling, more = {}) => ({
    ...{ case: name, group: "dense", tiling, operations: 1e6, bytes: 1e5, half: false },
    ...{ samples: [1, 2, 3], peers: {} },
    ...more,
  });
  const adapter = { vendor: "v", architecture: "", device: "", description: "", software: true };
  const host = (name, ...measured) => ({
    ...{ host: { name, cpu: "", cores: 4 }, adapter, headwise: "1.0.0" },
    ...{ rates: { f32: 1e9, copy: 2e9 }, speed: measured },
  });

  test("is what the schema describes, and every shape × engine × device is measured or missing", () => {
    const peers = { ort: { samples: [9], form: "f", milliseconds: 9, ratio: 1 } };
    const wrong = { failure: "it is wrong", samples: undefined };
    const document = fromProof(
      [
        host("Node 20.1.0", speed("a", "wide"), speed("b", "wide", wrong)),
        host("Chromium 141.0", speed("a", "wide", { peers })),
        { host: { name: "Firefox" }, notRun: "there is none" },
      ],
      about,
    );
    expect(faults(document)).toBeNull();
    expect(document.devices.map(({ runtime }) => runtime)).toEqual([
      { name: "Node", version: "20.1.0" },
      { name: "Chromium", version: "141.0" },
    ]);
    const { devices, engines, shapes, measurements, missing } = document;
    expect(measurements.length + missing.length).toBe(devices.length * engines.length * shapes.length);
    expect(missing.find(({ shape }) => shape === "b").reason).toBe("it is wrong");
    expect(document.note).toMatch(/^A software adapter/);
  });
});

test("the command of a file has its options, and no name of a file", () => {
  const args = [
    "--quick",
    "--json",
    "/home/me/a.json",
    "--save=/home/me/b.json",
    "--filter",
    "a b",
    "--against",
    "c.json",
  ];
  expect(commandOf("bench", args)).toBe('npm run bench -- --quick --filter "a b"');
  expect(commandOf("bench", ["--json", "a.json"])).toBe("npm run bench");
});

test("names that are too long or have control characters are made fit", () => {
  const head = { date: "2026-01-02T03:04:05.000Z", command: "x\u0000y", headwise: { version: "1" } };
  const file = new BenchFile(head);
  const device = file.addDevice({ id: "d", runtime: { name: "Node" } });
  const engine = file.addEngine({ library: "l", version: "1", backend: "wasm", variant: "v".repeat(300) });
  const shape = file.addShape({ id: "s\n\u202e", group: "g", operations: 1, bytes: 1 });
  file.measured({ device, engine, shape }, { samples: [1], roofline: { operations: 1, bytes: 1 } });
  expect(faults(file.document())).toBeNull();
});
