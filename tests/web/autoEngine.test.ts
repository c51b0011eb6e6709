import { describe, expect, test } from "@jest/globals";

import { readRecord, recordText } from "../../web/src/auto/record.js";
import { isSoftware } from "../../web/src/auto/software.js";
import { assumedSpeed } from "../../web/src/auto/speed.js";
import { HeadwiseError, OutOfMemoryError, OptionError, UnsupportedError } from "../../web/src/base/errors.js";
import type { Attention } from "../../web/src/instance/attention.js";
import { FAR, FAST, lostError, REAL, SLOW, syntheticInstance, type Behaviour } from "./syntheticEngine.js";

const zeros = (...shape: number[]) => ({ data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape });
const attend = (hw: Attention, heads: number, queries: number, keys = queries, options = {}) =>
  hw.scaledDotProductAttention(
    zeros(1, heads, queries, 64),
    zeros(1, heads, keys, 64),
    zeros(1, heads, keys, 64),
    options,
  );

/** A call that gains much from a GPU, and one that cannot. */
const large = (hw: Attention, options = {}) => attend(hw, 16, 1024, 1024, options);
const small = (hw: Attention) => attend(hw, 1, 16);

type Instance = ReturnType<typeof syntheticInstance>;

/** Calls until the GPU has been measured, and until the kind of `large` has been checked. */
async function calibrated(instance: Instance): Promise<Instance> {
  for (let call = 0; call < 4; ++call) {
    await large(instance.hw);
    await instance.engine.settled;
  }
  instance.gpu.ran.length = 0;
  instance.wasm.ran.length = 0;
  return instance;
}

const computedBy = async ({ gpu, wasm }: Instance, call: () => Promise<unknown>) => {
  const [onGpu, onWasm] = [gpu.ran.length, wasm.ran.length];
  await call();
  return [...(wasm.ran.length > onWasm ? ["wasm"] : []), ...(gpu.ran.length > onGpu ? ["webgpu"] : [])];
};

describe("backend auto", () => {
  test("computes on wasm at once, and opens no GPU for calls that would not gain from one", async () => {
    const { hw, open, engine } = syntheticInstance(FAST);
    for (let call = 0; call < 100; ++call) await small(hw);
    await engine.settled;
    expect(open).not.toHaveBeenCalled();
    expect(hw.report.reasons.webgpu).toBe("no call so far was large enough to gain from a GPU");
    expect(hw.report.calibration).toMatchObject({ state: "waiting", calls: { wasm: 100, webgpu: 0 } });
  });

  test("tries the GPU also beside a processor that is faster than most integrated GPUs", async () => {
    const { hw, open, engine } = syntheticInstance(FAST, {}, { threads: 16 });
    for (let call = 0; call < 20; ++call) await large(hw);
    await engine.settled;
    expect(open).toHaveBeenCalledTimes(1);
    expect(hw.report.calibration.state).toBe("ready");
  });

  test("tries the GPU for equal calls that it may compute faster than its first measurement says", async () => {
    // A GPU that saves power is slow while it is measured.
    const slowdown = { standard: 4 };
    const instance = syntheticInstance(FAST, { slowdown }, { threads: 16 });
    const { hw } = instance;
    for (let call = 0; call < 20; ++call) await large(hw);
    await instance.engine.settled;
    expect(hw.report.calibration.state).toBe("ready");
    slowdown.standard = 1;
    const engines: string[] = [];
    for (let call = 0; call < 20; ++call) engines.push(...(await computedBy(instance, () => large(hw))));
    expect(engines[0]).toBe("wasm");
    expect(engines.at(-1)).toBe("webgpu");
  });

  test("measures a fast GPU in the background, and then gives it large calls and wasm small ones", async () => {
    const instance = syntheticInstance(FAST);
    const { hw, gpu } = instance;
    const first = large(hw);
    expect(gpu.ran).toEqual([]);
    await first;
    await calibrated(instance);
    expect(await computedBy(instance, () => large(hw))).toEqual(["webgpu"]);
    expect(await computedBy(instance, () => small(hw))).toEqual(["wasm"]);
    const { calibration, reasons, adapter } = hw.report;
    expect(reasons.webgpu).toBeUndefined();
    expect(adapter?.vendor).toBe("synthetic");
    expect(calibration).toMatchObject({
      state: "ready",
      source: "fresh",
      tiling: "standard",
      measuredAt: 1_000_000,
      checks: [{ kind: "attention 64×64, float32, many rows, BHSD", tiling: "standard" }],
      engines: { wasm: { basis: "measured" }, webgpu: { basis: "measured" } },
      fallbacks: { count: 0 },
    });
    expect(calibration.race.map(({ milliseconds }) => Object.keys(milliseconds).sort())).toContainEqual([
      "standard",
      "wasm",
    ]);
    expect(calibration.engines.webgpu!.startMilliseconds).toBeLessThan(1);
  });

  test("keeps to wasm beside a slow GPU, and says what it measured", async () => {
    const instance = await calibrated(syntheticInstance(SLOW));
    expect(await computedBy(instance, () => large(instance.hw))).toEqual(["wasm"]);
    expect(instance.hw.report.calibration.state).toBe("ready");
  });

  test("gives a fast GPU that is 20 ms away only calls that are worth the way", async () => {
    const instance = await calibrated(syntheticInstance(FAR));
    const { hw } = instance;
    expect(await computedBy(instance, () => attend(hw, 8, 256))).toEqual(["wasm"]);
    expect(await computedBy(instance, () => large(hw))).toEqual(["webgpu"]);
  });

  test.each([
    ["fast", FAST],
    ["slow", SLOW],
    ["far", FAR],
  ])("spends at most 60 ms of a %s GPU on its race, if no single call takes longer", async (_name, device) => {
    const instance = syntheticInstance(device, { tilings: ["standard", "wide"] });
    await large(instance.hw);
    await instance.engine.settled;
    const { race, state } = instance.hw.report.calibration;
    expect(state).toBe("ready");
    expect(race.length).toBeGreaterThan(0);
    const checks = instance.hw.report.calibration.checks.length;
    expect(checks).toBe(2);
    const runs = instance.gpu.ran.length - checks;
    expect(instance.gpu.busy - checks * 1.1 * device.start).toBeLessThan(0.06 + runs * 1e-4);
  });

  test("does not let equal calls flip between the engines", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const engines = new Set<string>();
    for (let call = 0; call < 50; ++call)
      for (const by of await computedBy(instance, () => large(instance.hw))) engines.add(by);
    expect([...engines]).toEqual(["webgpu"]);
  });

  test("races two tilings at most and takes the faster", async () => {
    const instance = await calibrated(
      syntheticInstance(FAST, { tilings: ["standard", "wide", "tall"], slowdown: { standard: 2, tall: 0.1 } }),
    );
    const { calibration } = instance.hw.report;
    expect(calibration.tiling).toBe("wide");
    expect([...new Set(calibration.race.flatMap(({ milliseconds }) => Object.keys(milliseconds)))].sort()).toEqual([
      "standard",
      "wasm",
      "wide",
    ]);
    await large(instance.hw);
    expect(instance.gpu.tiling).toBe("wide");
  });
});

/** The gradients of a call with 64 features a head. */
const differentiate = (hw: Attention, heads: number, length: number) => {
  const [x, lse] = [() => zeros(1, heads, length, 64), zeros(1, heads, length)];
  return hw.attentionBackward({ query: x(), key: x(), value: x(), output: x(), lse, dOutput: x() });
};

/** An instance whose GPU has been measured, and has passed the check of forward calls whose gradients are wanted. */
async function calibratedForGradients(behaviour: Partial<Behaviour> = {}): Promise<Instance> {
  const instance = await calibrated(syntheticInstance(FAST, behaviour));
  await large(instance.hw, { returns: { lse: true } });
  await instance.engine.settled;
  return instance;
}

describe("gradients", () => {
  test("are computed where a forward call of their shape would be", async () => {
    const instance = await calibratedForGradients();
    expect(await computedBy(instance, () => differentiate(instance.hw, 16, 1024))).toEqual(["webgpu"]);
    expect(await computedBy(instance, () => differentiate(instance.hw, 1, 16))).toEqual(["wasm"]);
  });

  test("are computed by wasm before the GPU was measured, and beside a slow one", async () => {
    const fresh = syntheticInstance(FAST);
    expect(await computedBy(fresh, () => differentiate(fresh.hw, 16, 1024))).toEqual(["wasm"]);
    const slow = await calibrated(syntheticInstance(SLOW));
    expect(await computedBy(slow, () => differentiate(slow.hw, 16, 1024))).toEqual(["wasm"]);
  });

  test("are computed by wasm when the GPU fails, and the report says so", async () => {
    const before: Behaviour["before"] = (method) => {
      if (method === "attentionBackward") throw lostError();
    };
    const instance = await calibratedForGradients({ before });
    expect(await computedBy(instance, () => differentiate(instance.hw, 16, 1024))).toEqual(["wasm", "webgpu"]);
    expect(instance.hw.report.calibration.fallbacks.count).toBe(1);
  });

  test("of a linear map, and the map, are computed by wasm: the arrays would come to the GPU too late", async () => {
    const instance = await calibrated(syntheticInstance(FAST));
    const { hw } = instance;
    const [x, weight, dOutput] = [zeros(4096, 512), zeros(512, 512), zeros(4096, 512)];
    expect(await computedBy(instance, () => hw.linear(x, weight))).toEqual(["wasm"]);
    expect(await computedBy(instance, () => hw.linearBackward({ x, weight, dOutput }))).toEqual(["wasm"]);
  });
});

describe("a GPU that computes wrongly", () => {
  test("in one tiling computes with another, and the report names the check that failed", async () => {
    const wrong: Behaviour["wrong"] = ({ tiling }) => tiling === "wide";
    const instance = await calibrated(
      syntheticInstance(FAST, { tilings: ["standard", "wide", "tall"], slowdown: { wide: 0.2 }, wrong }),
    );
    const { calibration } = instance.hw.report;
    expect(calibration.tiling).not.toBe("wide");
    expect(calibration.checks.find(({ tiling }) => tiling === "wide")?.failure).toMatch(
      /^output\[0\] is .*, wasm gives /,
    );
    expect(await computedBy(instance, () => large(instance.hw))).toEqual(["webgpu"]);
  });

  test("in one kernel never gets the calls of that kernel", async () => {
    const wrong: Behaviour["wrong"] = ({ rows }) => rows === 1;
    const instance = await calibrated(syntheticInstance(FAST, { wrong }));
    const { hw, engine } = instance;
    const step = () => attend(hw, 256, 1, 2048);
    for (let call = 0; call < 5; ++call) {
      await step();
      await engine.settled;
    }
    expect(hw.report.calibration.checks.filter(({ failure }) => failure).map(({ kind }) => kind)).toEqual([
      "attention 64×64, float32, 1 rows, keys in parts, BHSD",
    ]);
    expect(await computedBy(instance, step)).toEqual(["wasm"]);
    expect(await computedBy(instance, () => large(hw))).toEqual(["webgpu"]);
  });

  test("in all kernels gets no call, and the report says why", async () => {
    const instance = await calibrated(syntheticInstance(FAST, { tilings: ["standard", "wide"], wrong: () => true }));
    expect(await computedBy(instance, () => large(instance.hw))).toEqual(["wasm"]);
    expect(instance.hw.report.calibration.state).toBe("without");
    expect(instance.hw.report.reasons.webgpu).toMatch(/^WebGPU computes wrongly on this device: output\[0\] is /);
  });
});

describe("a GPU that fails", () => {
  test("while it is raced is measured again once, and given up when it is lost again", async () => {
    let races = 0;
    const before: Behaviour["before"] = () => {
      if (++races % 4 === 0) throw lostError();
    };
    const { hw, engine } = syntheticInstance(FAST, { before });
    await large(hw);
    await engine.settled;
    expect(hw.report.calibration.state).toBe("waiting");
    expect(hw.report.reasons.webgpu).toMatch(/since the GPU was lost: DeviceLostError: /);
    for (let call = 0; call < 3; ++call) await large(hw);
    await engine.settled;
    expect(hw.report.calibration.state).toBe("without");
    expect(hw.report.reasons.webgpu).toMatch(/^the GPU was lost 2 times: /);
    expect((await large(hw)).output.data).toHaveLength(16 * 1024 * 64);
  });

  test.each([
    ["lost", lostError()],
    ["out of memory", new OutOfMemoryError("test: the GPU is out of memory")],
    ["over a limit", new UnsupportedError("test: a buffer is over a limit")],
    ["broken", new HeadwiseError("test: the GPU refused the call")],
  ])("because it is %s has its call computed by wasm, and the report says so", async (_name, error) => {
    let fails = false;
    const before: Behaviour["before"] = () => {
      if (fails) throw error;
    };
    const instance = await calibrated(syntheticInstance(FAST, { before }));
    fails = true;
    expect(await computedBy(instance, () => large(instance.hw))).toEqual(["wasm", "webgpu"]);
    expect(instance.hw.report.calibration.fallbacks).toEqual({ count: 1, latest: `${error.name}: ${error.message}` });
    expect(await computedBy(instance, () => large(instance.hw))).toEqual(["wasm"]);
  });

  test("for a reason that is the call's own rejects, as wasm does", async () => {
    let fails = false;
    const before: Behaviour["before"] = () => {
      if (fails) throw new OptionError("test: the call is wrong");
    };
    const instance = await calibrated(syntheticInstance(FAST, { before }));
    fails = true;
    await expect(large(instance.hw)).rejects.toThrow("the call is wrong");
    expect(instance.wasm.ran).toEqual([]);
  });

  test("does not compute an array that was detached while it tried", async () => {
    const query = zeros(1, 16, 1024, 64);
    let begins = false;
    const before: Behaviour["before"] = () => {
      if (!begins) return;
      structuredClone(query.data.buffer, { transfer: [query.data.buffer] });
      throw lostError();
    };
    const instance = await calibrated(syntheticInstance(FAST, { before }));
    const [key, value] = [zeros(1, 16, 1024, 64), zeros(1, 16, 1024, 64)];
    begins = true;
    await expect(instance.hw.scaledDotProductAttention(query, key, value)).rejects.toMatchObject({
      code: "DETACHED_INPUT",
    });
  });

  test("that never opens leaves no call of a disposed instance pending", async () => {
    const { hw, open } = syntheticInstance(FAST);
    open.mockReturnValue(new Promise(() => undefined));
    const x = zeros(1, 1, 2, 4);
    const calls = [1, 2].map(() => hw.scaledDotProductAttention(x, x, x, { location: "gpu" }));
    hw.dispose();
    for (const call of calls) await expect(call).rejects.toMatchObject({ name: "DisposedError" });
  });

  test("is not waited for by an instance that was disposed", async () => {
    const { hw, engine, gpu } = syntheticInstance(FAST);
    await large(hw);
    hw.dispose();
    await engine.settled;
    expect(gpu.ran).toEqual([]);
  });
});

describe("an adapter without a GPU", () => {
  test.each([
    ["google", "swiftshader", "", "SwiftShader Device (Subzero)"],
    ["mesa", "", "", "llvmpipe (LLVM 15.0.6, 256 bits)"],
    ["microsoft", "warp", "", "Microsoft Basic Render Driver"],
  ])("of %s %s is not opened", async (vendor, architecture, device, description) => {
    const identity = { vendor, architecture, device, description, fallback: false };
    const { hw, engine, open } = syntheticInstance(FAST, {}, { identity });
    for (let call = 0; call < 3; ++call) await large(hw);
    await engine.settled;
    expect(open).not.toHaveBeenCalled();
    expect(hw.report.reasons.webgpu).toMatch(/^the adapter computes on the CPU \(.*\), where wasm is faster$/);
    expect(isSoftware({ ...REAL, fallback: true })).toBe(true);
    expect(isSoftware({ ...REAL, description: "NVIDIA GeForce RTX 4090" })).toBe(false);
  });

  test("says why there is none", async () => {
    const { hw, engine } = syntheticInstance(FAST, {}, { identity: "no GPU adapter is available" });
    await large(hw);
    await engine.settled;
    expect(hw.report.reasons.webgpu).toBe("no GPU adapter is available");
  });
});

describe("what was measured", () => {
  const memory = (texts: Map<string, string>) => ({
    read: (key: string) => Promise.resolve(texts.get(key)),
    write: (key: string, text: string) => Promise.resolve(void texts.set(key, text)),
  });

  test("is kept, and the next visit checks the kernels again but runs no race", async () => {
    const texts = new Map<string, string>();
    const first = await calibrated(syntheticInstance(FAST, {}, { store: memory(texts) }));
    expect([...texts.keys()]).toEqual(["synthetic|fast|||0.0.0 relaxed 2"]);
    const next = syntheticInstance(FAST, {}, { store: memory(texts) });
    await large(next.hw);
    await next.engine.settled;
    expect(next.hw.report.calibration).toMatchObject({
      state: "ready",
      source: "storage",
      race: first.hw.report.calibration.race,
      engines: { webgpu: { basis: "kept" } },
    });
    expect(next.gpu.ran).toEqual(["attention"]); // the check
    expect(await computedBy(next, () => large(next.hw))).toEqual(["webgpu"]);
  });

  test("on another adapter is not used, nor by a device that computes wrongly", async () => {
    const texts = new Map<string, string>();
    await calibrated(syntheticInstance(FAST, {}, { store: memory(texts) }));
    const other = syntheticInstance(FAST, {}, { store: memory(texts), identity: { ...REAL, architecture: "other" } });
    await large(other.hw);
    await other.engine.settled;
    expect(other.hw.report.calibration.source).toBe("fresh");
    const wrong = syntheticInstance(FAST, { wrong: () => true }, { store: memory(texts) });
    await large(wrong.hw);
    await wrong.engine.settled;
    expect(wrong.hw.report.calibration.state).toBe("without");
  });

  test("is measured anew if the storage refuses, or gives what is not ours", async () => {
    const refusing = {
      read: () => Promise.reject(new Error("denied")),
      write: () => Promise.reject(new Error("denied")),
    };
    const forged = { read: () => Promise.resolve("{"), write: () => Promise.resolve() };
    for (const store of [refusing, forged]) {
      const { hw } = await calibrated(syntheticInstance(FAST, {}, { store }));
      expect(hw.report.calibration).toMatchObject({ state: "ready", source: "fresh" });
    }
  });
});

describe("a kept record", () => {
  const assumed = { wasm: assumedSpeed("wasm", 2), webgpu: assumedSpeed("webgpu", 2) };
  const record = {
    measuredAt: 1000,
    tiling: "standard",
    ...assumed,
    race: [{ heads: 1, queries: 32, keys: 32, headDim: 64, milliseconds: { standard: 1, wasm: 0.1 } }],
  };
  const read = (text: unknown, now = 2000) => readRecord(text, now, ["standard"], assumed);
  const changed = (change: object) => JSON.stringify({ ...(JSON.parse(recordText(record)) as object), ...change });

  test("is read as it was written", () => {
    expect(read(recordText(record))).toEqual(record);
  });

  test.each<[what: string, text: unknown]>([
    ["nothing", undefined],
    ["no text", { format: 1 }],
    ["no JSON", "{"],
    ["another kind of JSON", "[1]"],
    ["null", "null"],
    ["another format", changed({ format: 2 })],
    ["a time to come", changed({ measuredAt: 5000 })],
    ["no time", changed({ measuredAt: "1000" })],
    ["an unknown tiling", changed({ tiling: "wide" })],
    ["a speed of 0", changed({ webgpu: [0, 1e-9, 1e-11] })],
    ["a speed below 0", changed({ webgpu: [-1, 1e-9, 1e-11] })],
    ["an impossible speed", changed({ webgpu: [1e9, 1e-9, 1e-11] })],
    ["a speed of two numbers", changed({ wasm: [1e-5, 1e-9] })],
    ["a race that is no list", changed({ race: {} })],
    ["a race of something else", changed({ race: [7] })],
    [
      "a race with a time that is no number",
      changed({ race: [{ ...record.race[0], milliseconds: { standard: "1" } }] }),
    ],
    ["a race that is too long", changed({ race: Array(17).fill(record.race[0]) })],
    ["a text that is too long", changed({ padding: "x".repeat(30_000) })],
  ])("that is %s is ignored", (_what, text) => {
    expect(read(text)).toBeUndefined();
  });

  test("that is older than two months is ignored", () => {
    const day = 24 * 3600 * 1000;
    expect(read(recordText(record), 1000 + 59 * day)).toEqual(record);
    expect(read(recordText(record), 1000 + 61 * day)).toBeUndefined();
  });
});
