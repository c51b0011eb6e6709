import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";

import type { AttentionProblem } from "../../web/src/attention/attentionProblem.js";
import { AssetError, DisposedError, HeadwiseError } from "../../web/src/base/errors.js";
import { NO_CALIBRATION } from "../../web/src/engine/report.js";
import { version } from "../../web/src/engine/version.js";
import { Queue } from "../../web/src/turn/queue.js";
import type { ChannelEvents } from "../../web/src/worker/channel.js";
import { Connection } from "../../web/src/worker/connection.js";
import { errorOf, errorParts } from "../../web/src/worker/errorParts.js";
import type { CompiledFiles, EngineOptions, Reply, Request } from "../../web/src/worker/protocol.js";
import { scriptFailure } from "../../web/src/worker/scriptFailure.js";
import { serve, type Source } from "../../web/src/worker/serve.js";
import { WorkerEngine } from "../../web/src/worker/workerEngine.js";

/** A request that is answered. No compiled files are known to these tests, but where they say so. */
type Asked = Exclude<Request, CompiledFiles>;

/** A worker that sends the messages that the test chooses. */
function fakeWorker() {
  const posted: Asked[] = [];
  const seen = { alive: false, terminated: 0 };
  let events!: ChannelEvents;
  const connection = new Connection((given) => {
    events = given;
    return {
      post: (request) => void posted.push(request as Asked),
      keepAlive: (alive) => void (seen.alive = alive),
      terminate: () => void ++seen.terminated,
    };
  }, undefined);
  return { connection, posted, seen, events };
}

const options = { files: {} } as EngineOptions;
const reasonOf = (call: Promise<unknown>) => call.catch((reason: unknown) => reason);

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

describe("the files that a worker has compiled", () => {
  const module = new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
  const simd = { address: "https://example.org/compiled.wasm", module, bytes: 8 };
  const compiled = { kind: "compiled", files: [simd] } as const;
  const withFile = { files: { simdWasm: simd.address } } as EngineOptions;

  test("are sent to the next worker before it opens an engine; other files are not", () => {
    const first = fakeWorker();
    void first.connection.open("createAttention", withFile);
    expect(first.posted).toMatchObject([{ kind: "open" }]);
    first.events.reply({ kind: "ready", version, lock: undefined });
    first.events.reply(compiled);
    const second = fakeWorker();
    void second.connection.open("createAttention", withFile);
    expect(second.posted).toMatchObject([compiled, { kind: "open" }]);
    const other = fakeWorker();
    void other.connection.open("createAttention", {
      files: { simdWasm: "https://example.org/other.wasm" },
    } as EngineOptions);
    expect(other.posted).toMatchObject([{ kind: "open" }]);
  });

  test("are compiled by the worker where they cannot be sent", () => {
    const posted: Request[] = [];
    let events!: ChannelEvents;
    const connection = new Connection((given) => {
      events = given;
      const post = (request: Request) => {
        if (request.kind === "compiled") throw new DOMException("a module cannot be cloned", "DataCloneError");
        posted.push(request);
      };
      return { post, keepAlive: () => undefined, terminate: () => undefined };
    }, undefined);
    events.reply(compiled);
    void connection.open("createAttention", withFile);
    expect(posted).toMatchObject([{ kind: "open" }]);
  });
});

test("a worker of another version is refused and ended", async () => {
  const { connection, events, seen } = fakeWorker();
  const opening = reasonOf(connection.open("createAttention", options));
  events.reply({ kind: "ready", version: "0.0.1", lock: undefined });
  const error = await opening;
  expect(error).toMatchObject({ name: "AssetError", code: "ASSET_VERSION" });
  expect(String(error)).toMatch(/worker is of version 0\.0\.1, this is /);
  expect(seen.terminated).toBe(1);
});

test("a worker that never starts is given up after 30 s, one that loads for long is not", async () => {
  const silent = fakeWorker();
  const opening = reasonOf(silent.connection.open("createAttention", options));
  const loading = fakeWorker();
  let isSettled = false;
  void loading.connection.open("createAttention", options).finally(() => (isSettled = true));
  loading.events.reply({ kind: "ready", version, lock: undefined });
  for (let second = 0; second < 60; ++second) {
    await jest.advanceTimersByTimeAsync(1000);
    loading.events.reply({ kind: "opening" });
  }
  expect(await opening).toMatchObject({ name: "AssetError", code: "ASSET_TIMEOUT" });
  expect(silent.connection.hasStopped).toBe(false);
  expect(isSettled).toBe(false);
});

test("a worker that falls silent while it opens is ended after 30 s; one that is open may be silent", async () => {
  const stopped = fakeWorker();
  const opening = reasonOf(stopped.connection.open("createAttention", options));
  const open = fakeWorker();
  void open.connection.open("createAttention", options);
  for (const { events } of [stopped, open]) events.reply({ kind: "ready", version, lock: undefined });
  const report = { version, backend: "wasm", variant: "simd", threads: 1, reasons: {}, calibration: NO_CALIBRATION } as const; // oxfmt-ignore
  open.events.reply({ kind: "opened", id: open.posted[0]!.id, report });
  await jest.advanceTimersByTimeAsync(60_000);
  expect(await opening).toMatchObject({
    code: "ASSET_TIMEOUT",
    message: "createAttention: the engine's worker stopped while it opened the engine: no sign of it within 30 s",
  });
  expect(stopped.connection.hasStopped).toBe(true);
  expect(stopped.seen.terminated).toBe(1);
  expect(open.connection.isOpen).toBe(true);
});

test("a worker whose script cannot be loaded is an AssetError that says where to look", async () => {
  const { connection, events } = fakeWorker();
  const opening = reasonOf(connection.open("createAttention", options));
  events.lost("http://localhost/worker-entry.js could not be loaded");
  expect(await opening).toMatchObject({
    code: "ASSET_BLOCKED",
    message: expect.stringMatching(/did not start: http:\/\/localhost\/worker-entry\.js/),
    hint: expect.stringMatching(/worker-entry\.js is served beside/),
  });
});

test("a worker whose script does not start rejects with what its channel found out", async () => {
  const { connection, events } = fakeWorker();
  const opening = reasonOf(connection.open("createAttention", options));
  const cause = new Error("of the script");
  events.unstarted(Promise.resolve({ reason: "a.js failed", code: "ASSET_INVALID", hint: "Serve it.", cause }));
  expect(await opening).toMatchObject({
    name: "AssetError",
    code: "ASSET_INVALID",
    message: "createAttention: the engine's worker did not start: a.js failed",
    hint: expect.stringMatching(/^Serve it\./),
    cause,
  });
});

test("a server that is silent about a script that failed is named, after 30 s more", async () => {
  const fetching = jest.spyOn(globalThis, "fetch").mockReturnValue(new Promise(() => undefined));
  const { connection, events } = fakeWorker();
  const opening = reasonOf(connection.open("createAttention", options));
  await jest.advanceTimersByTimeAsync(20_000);
  events.unstarted(scriptFailure("http://localhost/worker-entry.js", "", () => undefined));
  await jest.advanceTimersByTimeAsync(31_000);
  fetching.mockRestore();
  expect(await opening).toMatchObject({
    code: "ASSET_TIMEOUT",
    message:
      "createAttention: the engine's worker did not start: http://localhost/worker-entry.js could not be fetched: " +
      "it was not answered within 30 s",
    hint: expect.stringMatching(/^Check the network/),
  });
});

test("the process is kept alive while a call is pending, and not a moment longer", async () => {
  const { connection, events, posted, seen } = fakeWorker();
  events.reply({ kind: "ready", version, lock: undefined });
  const call = connection.call("save", 3, "save", "save");
  expect(seen.alive).toBe(true);
  events.reply({ kind: "done", id: posted[0]!.id, result: 1, made: undefined, news: [], kernelTimes: undefined });
  expect(await call).toMatchObject({ result: 1 });
  expect(seen.alive).toBe(false);
});

test("what is known of an object follows its news, is let go with it, and stays with who has it", async () => {
  const { connection, events, posted } = fakeWorker();
  events.reply({ kind: "ready", version, lock: undefined });
  const answer = (...news: { object: number; state: { bytes: number; placement: "wasm" } }[]) =>
    events.reply({ kind: "done", id: posted.at(-1)!.id, result: 1, made: undefined, news, kernelTimes: undefined });
  const make = connection.call("createCache", 0, "createCache", {});
  answer({ object: 3, state: { bytes: 7, placement: "wasm" } });
  await make;
  const known = connection.known(3);
  expect(known.state).toEqual({ bytes: 7, placement: "wasm" });
  const append = connection.call("append", 3, "append", {});
  answer({ object: 3, state: { bytes: 8, placement: "wasm" } });
  await append;
  const release = connection.release(3);
  answer();
  await release;
  expect(known.state).toEqual({ bytes: 8, placement: "wasm" });
  expect(connection.known(3)).toBeUndefined();
});

test("only the first end counts, and replies that come after it do not", async () => {
  const { connection, events, posted, seen } = fakeWorker();
  events.reply({ kind: "ready", version, lock: undefined });
  const call = reasonOf(connection.call("attention", 0, "attention", {}));
  events.lost("exit code 1");
  events.lost("a second time");
  events.reply({ kind: "done", id: posted[0]!.id, result: 1, made: undefined, news: [], kernelTimes: undefined });
  expect(await call).toMatchObject({
    code: "WORKER_LOST",
    message: "attention: the engine's worker ended: exit code 1",
  });
  expect(await reasonOf(connection.call("later", 0, "attention", {}))).toMatchObject({ code: "WORKER_LOST" });
  expect(seen.terminated).toBe(1);
});

test("a worker that cannot even be made is an AssetError; of Trusted Types it says how to allow it", async () => {
  const reason = new TypeError("Failed to construct 'Worker': This document requires 'TrustedScriptURL' assignment.");
  const connection = new Connection(() => {
    throw reason;
  }, undefined);
  expect(await reasonOf(connection.open("createAttention", options))).toMatchObject({
    name: "AssetError",
    code: "ASSET_BLOCKED",
    message: expect.stringMatching(
      /^createAttention: the engine's worker did not start: TypeError: .*TrustedScriptURL/,
    ),
    hint: expect.stringMatching(/require-trusted-types-for 'script'.*"default".*a worker that you start yourself/),
    cause: reason,
  });
});

test("what onProgress throws ends loading and the worker, and is what the caller gets", async () => {
  const thrown = new Error("the listener's own");
  const seen = { terminated: 0 };
  let events!: ChannelEvents;
  const connection = new Connection(
    (given) => {
      events = given;
      return { post: () => undefined, keepAlive: () => undefined, terminate: () => void ++seen.terminated };
    },
    () => {
      throw thrown;
    },
  );
  const opening = reasonOf(connection.open("createAttention", options));
  events.reply({ kind: "ready", version, lock: undefined });
  events.reply({ kind: "progress", progress: { phase: "download", loaded: 1, total: 2 } });
  expect(await opening).toBe(thrown);
  expect(seen.terminated).toBe(1);
});

describe("an instance whose worker stops while it opens", () => {
  const report = { version, backend: "wasm", variant: "simd", threads: 1, reasons: {}, calibration: NO_CALIBRATION } as const; // oxfmt-ignore

  /** Opens an instance. Each worker that it starts says that it runs, and nothing more. */
  function openingInstance() {
    const workers: { events: ChannelEvents; posted: Asked[]; terminated: boolean }[] = [];
    const spawn = (events: ChannelEvents) => {
      const worker = { events, posted: [] as Asked[], terminated: false };
      workers.push(worker);
      queueMicrotask(() => events.reply({ kind: "ready", version, lock: undefined }));
      return {
        post: (request: Request) => void worker.posted.push(request as Asked),
        keepAlive: () => undefined,
        terminate: () => void (worker.terminated = true),
      };
    };
    return { workers, ...WorkerEngine.open("createAttention", spawn, options, undefined) };
  }

  test("gets another worker", async () => {
    const { workers, opened } = openingInstance();
    await jest.advanceTimersByTimeAsync(30_000);
    expect(workers.map(({ terminated }) => terminated)).toEqual([true, false]);
    const [{ id }] = workers[1]!.posted as [Asked];
    workers[1]!.events.reply({ kind: "opened", id, report });
    expect((await opened).report).toBe(report);
  });

  test("gets no more than three", async () => {
    const { workers, opened } = openingInstance();
    const reason = reasonOf(opened);
    for (let worker = 0; worker < 3; ++worker) await jest.advanceTimersByTimeAsync(30_000);
    expect(workers.map(({ terminated }) => terminated)).toEqual([true, true, true]);
    expect(await reason).toMatchObject({ name: "AssetError", code: "ASSET_TIMEOUT" });
  });

  test("gets no other one if it is closed", async () => {
    const { workers, opened, close } = openingInstance();
    const reason = reasonOf(opened);
    close();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(await reason).toMatchObject({ name: "DisposedError" });
    expect(workers).toHaveLength(1);
  });
});

describe("an instance whose worker was lost", () => {
  const problem = { operation: "scaledDotProductAttention", output: {}, keepRank: (x: unknown) => x };
  const report = { version, backend: "wasm", variant: "simd", threads: 1, reasons: {}, calibration: NO_CALIBRATION } as const; // oxfmt-ignore
  const failure = errorParts("x", new AssetError("x: a.wasm was not found", { hint: "Serve it." }));

  /** An instance, and the workers that it has started. */
  async function instance() {
    const workers: { events: ChannelEvents; posted: Asked[]; terminated: boolean }[] = [];
    const spawn = (events: ChannelEvents) => {
      const worker = { events, posted: [] as Asked[], terminated: false };
      workers.push(worker);
      return {
        post: (request: Request) => void worker.posted.push(request as Asked),
        keepAlive: () => undefined,
        terminate: () => void (worker.terminated = true),
      };
    };
    const { opened } = WorkerEngine.open("createAttention", spawn, options, undefined);
    const answer = (kind: "opened" | "failed" | "done") => {
      const { events, posted } = workers.at(-1)!;
      const { id } = posted.at(-1)!;
      if (kind === "opened") events.reply({ kind, id, report });
      else if (kind === "failed") events.reply({ kind, id, error: failure, news: [] });
      else events.reply({ kind, id, result: {}, made: undefined, news: [], kernelTimes: undefined });
    };
    workers[0]!.events.reply({ kind: "ready", version, lock: undefined });
    answer("opened");
    const { engine } = await opened;
    const queue = new Queue();
    const call = () => {
      const assertAdmitted = engine.admit(problem.operation);
      return reasonOf(
        queue.run(() => {
          assertAdmitted();
          return engine.attention(problem as unknown as AttentionProblem);
        }),
      );
    };
    return { engine, workers, answer, call };
  }

  const tick = () => jest.advanceTimersByTimeAsync(0);

  test("tries again with every call, and each call that fails says why its worker did not open", async () => {
    const { workers, answer, call } = await instance();
    workers[0]!.events.lost("exit code 1");
    for (let n = 1; n < 4; ++n) {
      const failing = call();
      await tick();
      expect(workers).toHaveLength(n + 1);
      expect(workers[n]!.posted.at(-1)).toMatchObject({ kind: "open", operation: "scaledDotProductAttention" });
      answer("failed");
      const error = await failing;
      expect(AssetError.is(error)).toBe(true);
      expect(error).toMatchObject({ code: "ASSET_NOT_FOUND", message: "x: a.wasm was not found" });
      expect(workers[n]!.terminated).toBe(true);
    }
    const working = call();
    await tick();
    answer("opened");
    await tick();
    answer("done");
    expect(await working).toEqual({});
  });

  test("gives calls that wait behind a failed one a worker of their own", async () => {
    const { workers, answer, call } = await instance();
    workers[0]!.events.lost("exit code 1");
    const calls = [call(), call()];
    await tick();
    answer("failed");
    expect(await calls[0]).toMatchObject({ code: "ASSET_NOT_FOUND" });
    await tick();
    expect(workers).toHaveLength(3);
    answer("opened");
    await tick();
    answer("done");
    expect(await calls[1]).toEqual({});
  });

  test("that is disposed while another opens ends that too, and starts no more", async () => {
    const { engine, workers, call } = await instance();
    workers[0]!.events.lost("exit code 1");
    const waiting = call();
    await tick();
    engine.dispose();
    expect(DisposedError.is(await waiting)).toBe(true);
    expect(workers[1]!.terminated).toBe(true);
    expect(await call()).toMatchObject({ name: "DisposedError" });
    expect(workers).toHaveLength(2);
  });
});

describe("an error on its way from the worker", () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  const shared = Array.from({ length: 40 }).reduce<unknown>((inner) => [inner, inner], []);
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  test.each([
    ["undefined", undefined],
    ["null", null],
    ["a symbol", Symbol("s")],
    ["an object without prototype", Object.create(null)],
    ["an object that throws when it is read", { get stack() { throw new Error("no"); } }], // oxfmt-ignore
    ["a stack that cannot be sent", { stack: () => undefined }],
    ["a revoked proxy", revoked.proxy],
    ["an error that is its own cause", Object.assign(new Error("self"), { get cause() { return this; } })], // oxfmt-ignore
    ["a list that holds itself", cyclic],
    ["a list that holds a list twice, and so on", shared],
  ])("may have any cause: %s", (_, cause) => {
    for (const error of [cause, new HeadwiseError("x: no", { cause })]) {
      const parts = errorParts("x", error);
      const received = errorOf(structuredClone(parts));
      expect(HeadwiseError.is(received)).toBe(true);
      expect(received.code).toBe("INTERNAL");
      expect(received.message).toMatch(/^x: /);
    }
  });
});

test("an error that is none of ours names the operation of the call, not the engine's method", async () => {
  const replies: Reply[] = [];
  const { connection, posted } = fakeWorker();
  const noEngine = {} as Source;
  const answer = serve(noEngine, (reply) => void replies.push(reply));
  void reasonOf(connection.call("scaledDotProductAttention", 0, "attention"));
  await answer(posted[0]!);
  expect(replies).toMatchObject([
    {
      kind: "failed",
      error: {
        code: "INTERNAL",
        message: expect.stringMatching(/^scaledDotProductAttention: the engine's worker failed: TypeError: /),
      },
    },
  ]);
});
