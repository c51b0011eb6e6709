import { readFileSync } from "node:fs";

import { describe, expect, test } from "@jest/globals";
import Ajv from "ajv";
import fc from "fast-check";

import { barsOf, axisOf } from "../../web/demo/lab/rooms/bench/bars.js";
import {
  checked,
  readBench,
  type BenchDocument,
  type BenchFile,
  type BenchMeasurement,
} from "../../web/demo/lab/rooms/bench/benchFile.js";
import { gaps } from "../../web/demo/lab/rooms/bench/completeness.js";
import { csvOf, jsonOf } from "../../web/demo/lab/rooms/bench/exports.js";
import { allowedAddress } from "../../web/demo/lab/rooms/bench/fetching.js";
import { rowsOf } from "../../web/demo/lab/rooms/bench/rows.js";
import { finding } from "../../web/demo/lab/rooms/bench/words.js";
import { faults } from "./labGrid.js";

const text = (path: string) => readFileSync(new URL(`../bench/schema/${path}`, import.meta.url), "utf8");
const EXAMPLE = text("example.json");
const NAMES = { device: "a device", engine: "ours", shape: "small" };

const measurement = (change: Partial<BenchMeasurement> = {}): BenchMeasurement => ({
  ...{ ...NAMES, samples: [4, 1, 2, 5, 3], roofline: { operations: 1e9, bytes: 1e9 } },
  ...change,
});

/** Two engines that have measured one shape on one device. */
function document(change: Partial<BenchDocument> = {}): BenchDocument {
  return {
    ...{ format: "headwise-bench", version: 1, unit: "ms", date: "2026-01-02T03:04:05.000Z", command: "npm run bench" },
    headwise: { version: "1.0.0" },
    devices: [{ id: "a device", cores: 2, load: 0.1, runtime: { name: "Node", version: "20" } }],
    engines: [
      { id: "ours", library: "headwise", version: "1.0.0", backend: "wasm", variant: "relaxed", threads: 1 },
      { id: "theirs", library: "other", version: "2.0.0", backend: "wasm", threads: 1 },
    ],
    shapes: [{ id: "small", group: "dense", operations: 1e6, bytes: 1e5 }],
    measurements: [measurement(), measurement({ engine: "theirs", samples: [20, 10, 20, 40, 20] })],
    missing: [],
    ...change,
  };
}

const file = (change: Partial<BenchDocument> = {}, name = "a.json"): BenchFile => ({
  name,
  document: document(change),
});

describe("a file of the format", () => {
  test("that the command has written is read, and is what the schema describes", () => {
    const read = readBench("example.json", EXAMPLE);
    expect(read.measurements.length).toBeGreaterThan(0);
    const validate = new Ajv().compile(JSON.parse(text("headwise-bench.json")) as object);
    void validate(JSON.parse(EXAMPLE));
    expect(validate.errors).toBeNull();
  });

  test("keeps every sample in its order", () => {
    expect(readBench("a.json", JSON.stringify(document())).measurements[0]!.samples).toEqual([4, 1, 2, 5, 3]);
  });

  const changed = (change: object) => JSON.stringify({ ...document(), ...change });
  const sampled = (samples: string) => changed({}).replace("[4,1,2,5,3]", samples);

  test.each<readonly [string, string, RegExp]>([
    ["no JSON", "{", /^a\.json is not JSON\./],
    ["a list", "[]", /^a\.json is not an object of the format/],
    ["null", "null", /^a\.json is not an object of the format/],
    [
      "another format",
      changed({ format: "headwise gpu-proof" }),
      /field format must be “headwise-bench”, and is “headwise gpu-proof”/,
    ],
    ["no format", "{}", /field format must be “headwise-bench”, and is missing/],
    ["a later version", changed({ version: 2 }), /field version must be 1, and is 2/],
    ["another unit", changed({ unit: "s" }), /field unit is “s”/],
    ["no list of shapes", changed({ shapes: undefined }), /incomplete.*shapes/],
    ["a field that the format lacks", changed({ html: "<b>" }), /field html is not one of the format/],
    [
      "a field named __proto__",
      changed({}).replace("{", '{"__proto__": {"a": 1},'),
      /field __proto__ is not one of the format/,
    ],
    ["a date that is none", changed({ date: "yesterday" }), /field date is “yesterday”/],
    ["a sample that is text", sampled('[1, "2"]'), /field measurements\[0\]\.samples\[1\] is “2”/],
    ["a sample of 0", sampled("[0]"), /field measurements\[0\]\.samples\[0\] is 0/],
    ["a negative sample", sampled("[-1]"), /field measurements\[0\]\.samples\[0\] is -1/],
    ["a sample that is infinite", sampled("[1e999]"), /field measurements\[0\]\.samples\[0\] is/],
    ["no sample", sampled("[]"), /field measurements\[0\]\.samples/],
    ["too many samples", sampled(`[${Array(10_001).fill(1).join()}]`), /field measurements\[0\]\.samples/],
    ["a name of 201 characters", changed({ headwise: { version: "x".repeat(201) } }), /field headwise\.version/],
    [
      "a name that changes the direction of text",
      changed({ headwise: { version: "1\u202e0" } }),
      /field headwise\.version/,
    ],
    [
      "an unknown engine",
      changed({ measurements: [measurement({ engine: "none" })] }),
      /measurements\[0\]\.engine is “none”, which is not in the list engines/,
    ],
    [
      "an unknown shape that is missing",
      changed({ missing: [{ ...NAMES, shape: "none", reason: "" }] }),
      /missing\[0\]\.shape is “none”/,
    ],
    [
      "two devices of one id",
      changed({ devices: [...document().devices, ...document().devices] }),
      /devices\[1\]\.id is “a device”, which another one has too/,
    ],
    ["one measurement twice", changed({ measurements: [measurement(), measurement()] }), /measurements\[1\] repeats/],
    ["what is both measured and missing", changed({ missing: [{ ...NAMES, reason: "" }] }), /missing\[0\] repeats/],
  ])("with %s is refused by the name of its field", (_, content, message) => {
    const read = () => readBench("a.json", content);
    expect(read).toThrow(message);
    expect(read).toThrow(expect.objectContaining({ name: "BenchFileError" }));
  });

  test("is refused by a message of bounded length without control characters, whatever stands in it", () => {
    const paths = fc.constantFrom("date", "command", "note", "unit", "devices", "measurements", "headwise");
    const anything = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.string({ unit: "binary", maxLength: 3000 }));
    fc.assert(
      fc.property(paths, fc.string({ unit: "binary" }), anything, (path, extra, value) => {
        try {
          checked("a.json", JSON.parse(JSON.stringify({ ...document(), [path]: value, [extra]: value })));
        } catch (error) {
          expect((error as Error).name).toBe("BenchFileError");
          expect((error as Error).message).toMatch(/^a\.json/);
          expect((error as Error).message.length).toBeLessThan(500);
          expect((error as Error).message).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
        }
      }),
      { numRuns: 300, seed: 1 },
    );
  });
});

describe("what is said to be incomplete", () => {
  const only = (change: Partial<BenchDocument>, ...others: BenchFile[]) => gaps([file(change), ...others]);

  test("nothing, if all was measured", () => expect(gaps([file()])).toEqual([]));

  test("a measurement that is neither there nor missing", () => {
    expect(only({ measurements: [measurement()] })).toEqual([
      "a.json: measurements: 1 of 2 are neither measured nor in the list missing. The first one is “small” with “theirs” on “a device”.",
    ]);
  });

  test("what could not be measured, with its reason", () => {
    const missing = [{ ...NAMES, engine: "theirs", reason: "no operator" }];
    expect(only({ measurements: [measurement()], missing })).toEqual([
      "a.json: missing: 1 time could not be measured. theirs: no operator.",
    ]);
  });

  test("too few samples", () => {
    const measurements = [measurement(), measurement({ engine: "theirs", samples: [1, 2, 3, 4] })];
    expect(only({ measurements })).toEqual([
      "a.json: samples: 1 of 2 measurements have fewer than 5 samples (the fewest: 4). Their spread is not reliable.",
    ]);
  });

  test("a machine that was busy", () => {
    const devices = [{ ...document().devices[0]!, load: 1.6 }];
    expect(only({ devices })).toEqual([
      "a.json: load: “a device” was busy: a load of 1.6 on 2 cores. Do not trust its times.",
    ]);
  });

  test("a shape and an engine that only another file has", () => {
    const shapes = [{ ...document().shapes[0]!, id: "large" }];
    const engines = [{ ...document().engines[0]!, backend: "webgpu" as const }, document().engines[1]!];
    const measurements = document().measurements.map((each) => ({ ...each, shape: "large" }));
    const other = file({ shapes, engines, measurements }, "b.json");
    expect(gaps([file(), other])).toEqual([
      "a.json: shapes: 1 shape of other files is missing: large.",
      "a.json: engines: 1 engine of other files is missing: headwise · webgpu · relaxed · 1 thread.",
      "b.json: shapes: 1 shape of other files is missing: small.",
      "b.json: engines: 1 engine of other files is missing: headwise · wasm · relaxed · 1 thread.",
    ]);
  });

  test("devices with other numbers of cores are not incomplete", () => {
    const threads = (n: number) => [{ ...document().engines[0]!, threads: n }, document().engines[1]!];
    expect(gaps([file({ engines: threads(2) }), file({ engines: threads(8) }, "b.json")])).toEqual([]);
  });

  test("other versions, and other work under one name", () => {
    const engines = [{ ...document().engines[0]!, version: "1.1.0" }, document().engines[1]!];
    const shapes = [{ ...document().shapes[0]!, operations: 2e6 }];
    expect(gaps([file(), file({ engines, shapes }, "b.json")])).toEqual([
      "engines: version: headwise has 2 versions: 1.0.0 in a.json; 1.1.0 in b.json. Their times are of different programs.",
      "b.json: shapes: “small” has 2000000 operations and 100000 bytes, in a.json 1000000 operations and 100000 bytes. They are shown as two shapes.",
    ]);
  });
});

describe("rows of all files", () => {
  test("have medians, quartiles and the share of the roof", () => {
    const [own, other] = rowsOf([file()]);
    // 1e6 operations at 1e9 a second take 1 ms.
    expect(own).toMatchObject({
      engine: "headwise · wasm · relaxed · 1 thread",
      median: 3,
      low: 2,
      high: 4,
      roof: 1 / 3,
    });
    expect(other).toMatchObject({ engine: "other · wasm · 1 thread", version: "2.0.0", median: 20, low: 20, high: 20 });
  });

  test("of one device in two files are told apart by the file", () => {
    const devices = rowsOf([file(), file({}, "b.json")]).map(({ device }) => device);
    expect(new Set(devices)).toEqual(new Set(["a device (a.json)", "a device (b.json)"]));
  });

  test("of other work under one name are of another shape", () => {
    const shapes = [{ ...document().shapes[0]!, operations: 2e6 }];
    const found = new Set(rowsOf([file(), file({ shapes }, "b.json")]).map(({ shape }) => shape));
    expect(found).toEqual(new Set(["small", "small (2,000,000 operations, 100,000 bytes)"]));
  });

  test("are found in words", () => {
    expect(finding(rowsOf([file()]), 1, false)).toBe(
      "1 file: 1 shape × 2 engines × 1 device, 2 measurements. Most apart, 6.7 ×, are headwise · wasm · relaxed · 1 thread and other · wasm · 1 thread in “small”.",
    );
    expect(finding([], 0, false)).toMatch(/^No file is shown/);
  });

  test("of a device that is not to be trusted are no headline", () => {
    const devices = [{ ...document().devices[0]!, load: 43 }];
    const fast = [measurement({ samples: [0.001] }), measurement({ engine: "theirs", samples: [1] })];
    const busy = file({ devices, measurements: fast }, "b.json");
    expect(gaps([busy]).some((words) => words.includes("Do not trust its times"))).toBe(true);
    const alone = finding(rowsOf([busy]), 1, false);
    expect(alone).toMatch(/2 measurements\. Do not trust these times: other programs were using the cores\.$/);
    expect(alone).not.toContain("×, are");
    expect(finding(rowsOf([file(), busy]), 2, false)).toMatch(
      /Most apart, 6\.7 ×, .* in “small”\. 2 measurements of a busy device do not count here\.$/,
    );
    expect(faults(alone)).toEqual([]);
  });

  test("of the example are no headline, because its machine was busy", () => {
    const example = { name: "example.json", document: readBench("example.json", EXAMPLE) };
    const isBusy = gaps([example]).some((words) => words.includes("Do not trust its times"));
    expect(finding(rowsOf([example]), 1, true).includes("Do not trust")).toBe(isBusy);
  });
});

describe("bars", () => {
  const rows = rowsOf([file(), file({ measurements: [measurement({ engine: "theirs" })] }, "b.json")]);
  const view = { shape: "", show: "time", to: "", by: "engine", log: false } as const;

  test("in time have the row's numbers, and the axis ends at the last quartile", () => {
    const [{ bars, axis }] = barsOf(rows, view) as [ReturnType<typeof barsOf>[0]];
    expect(bars.map(({ value, low, high }) => [value, low, high])).toEqual([[3, 2, 4], [20, 20, 20], [3, 2, 4]]); // oxfmt-ignore
    expect([axis.from, axis.to, axis.at(0), axis.at(20), axis.at(5)]).toEqual([0, 20, 0, 1, 0.25]);
  });

  test("as ratios are divided by the engine on the same device, and none is invented without it", () => {
    const to = "headwise · wasm · relaxed · 1 thread";
    const [{ bars, withoutRatio }] = barsOf(rows, { ...view, show: "ratio", to }) as [ReturnType<typeof barsOf>[0]];
    expect(bars.map(({ value }) => value)).toEqual([1, 20 / 3]);
    expect(withoutRatio).toBe(1);
  });

  test("by time are in its order", () => {
    expect(barsOf(rows, { ...view, by: "time" })[0]!.bars.map(({ value }) => value)).toEqual([3, 3, 20]);
  });

  test("on a logarithmic axis lie between powers of ten, for every time that a file may have", () => {
    const time = fc.double({ min: 1e-300, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(fc.array(time, { minLength: 1, maxLength: 5 }), (times) => {
        const axis = axisOf(times.map((value) => ({ value, low: value, high: value })), true); // oxfmt-ignore
        for (const value of times) {
          expect(axis.at(value)).toBeGreaterThanOrEqual(0);
          expect(axis.at(value)).toBeLessThanOrEqual(1 + 1e-12);
        }
      }),
      { seed: 1 },
    );
  });
});

describe("the saved table", () => {
  test("has every sample, and JSON has the rows", () => {
    const rows = rowsOf([file()]);
    const [head, first] = csvOf(rows).split("\r\n");
    expect(head).toBe("file,device,shape,engine,version,median_ms,first_quartile_ms,third_quartile_ms,share_of_roof,samples_ms"); // oxfmt-ignore
    expect(first).toMatch(
      /^a\.json,a device,small,headwise · wasm · relaxed · 1 thread,1\.0\.0,3,2,4,0\.33\d+,4 1 2 5 3$/,
    );
    expect(JSON.parse(jsonOf(rows))).toEqual(rows);
  });

  test("has no cell that a program for tables would compute, and quotes what would end a cell", () => {
    const shapes = [{ ...document().shapes[0]!, id: '=1+"1",2' }];
    const measurements = document().measurements.map((each) => ({ ...each, shape: '=1+"1",2' }));
    expect(csvOf(rowsOf([file({ shapes, measurements })]))).toContain(`,"'=1+""1"",2",`);
  });
});

describe("an address of a file", () => {
  const PAGE = "http://localhost:8000/lab/";

  test.each(["https://example.org/a.json", "b.json", "/c.json", "http://localhost:8000/d.json"])(
    "%s may be fetched",
    (address) => {
      expect(allowedAddress(address, PAGE).protocol).toMatch(/^https?:$/);
    },
  );

  test.each([
    "http://example.org/a.json",
    "http://localhost:9000/a.json",
    "data:,x",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "blob:http://localhost:8000/1",
    "http://[",
  ])("%s is refused", (address) =>
    expect(() => allowedAddress(address, PAGE)).toThrow(expect.objectContaining({ name: "BenchFileError" })),
  );
});
