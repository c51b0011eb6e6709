import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { readFile } from "node:fs/promises";

import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import {
  AssetError,
  createAttention,
  type HeadwiseError,
  OptionError,
  UnsupportedError,
  type CreateOptions,
} from "headwise";

const dist = new URL("../../dist/", import.meta.url);
const wasm = await readFile(new URL("wasm/headwise.simd.wasm", dist));

const answers: Record<string, RequestListener> = {
  "/headwise.wasm": (_, response) => {
    response.writeHead(200, { "content-type": "application/wasm", "content-length": wasm.length });
    for (let at = 0; at < wasm.length; at += 10_000) response.write(wasm.subarray(at, at + 10_000));
    response.end();
  },
  "/page.wasm": (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>"),
  "/empty.wasm": (_, response) => response.writeHead(200, { "content-type": "application/wasm" }).end(),
  "/cut.wasm": (_, response) => response.writeHead(200).end(wasm.subarray(0, 1000)),
  "/slow.wasm": (_, response) => response.writeHead(200).write(wasm.subarray(0, 1000)),
};

let server: Server;
let origin: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const answer = answers[request.url!];
    if (answer) answer(request, response);
    else response.writeHead(404, { "content-type": "text/plain" }).end("no such file");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

/** A loader as Emscripten writes it, in as far as ours talks to it. */
const glue = (body: string) => `data:text/javascript,${encodeURIComponent(`export default (options) => { ${body} }`)}`;

async function rejection(options: unknown): Promise<HeadwiseError> {
  const reason: unknown = await createAttention(options as CreateOptions).then(
    (hw) => {
      hw.dispose();
      return new Error("it loaded");
    },
    (thrown: unknown) => thrown,
  );
  return reason as HeadwiseError;
}

const computes = async (options: CreateOptions) => {
  const hw = await createAttention({ variant: "simd", threads: 1, ...options });
  const x = { data: new Float32Array(8).fill(1), shape: [2, 4] };
  const { output } = await hw.scaledDotProductAttention(x, x, x);
  hw.dispose();
  return output.data[0] === 1;
};

describe("the engine's file", () => {
  test("may come from any address, with its bytes reported as they arrive", async () => {
    const seen: number[] = [];
    const onProgress = ({ loaded, total }: { loaded: number; total: number }) => {
      expect(total).toBe(wasm.length);
      seen.push(loaded);
    };
    expect(await computes({ wasm: { url: `${origin}/headwise.wasm` }, onProgress })).toBe(true);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(wasm.length);
  });

  test("may come as bytes or as a compiled module", async () => {
    expect(await computes({ wasm: { binary: new Uint8Array(wasm) } })).toBe(true);
    expect(await computes({ wasm: { module: await WebAssembly.compile(wasm) } })).toBe(true);
  });

  test.each([
    ["none.wasm", "ASSET_NOT_FOUND", /\/none\.wasm was not found: HTTP 404, content type text\/plain$/],
    [
      "page.wasm",
      "ASSET_INVALID",
      /is not WebAssembly: HTTP 200, content type text\/html, first bytes 3c 21 64 6f 63 74 79 70$/,
    ],
    ["empty.wasm", "ASSET_INVALID", /is not WebAssembly: HTTP 200, content type application\/wasm, first bytes none$/],
    ["cut.wasm", "ASSET_INVALID", /\/cut\.wasm is not a module that this engine compiles: CompileError/],
  ])("%s is an AssetError that tells what came: %s", async (file, code, message) => {
    const error = await rejection({ variant: "simd", wasm: { url: `${origin}/${file}` } });
    expect(AssetError.is(error)).toBe(true);
    expect(error.code).toBe(code);
    expect(error.message).toContain(`createAttention: ${origin}/${file}`);
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(/wasm: \{ url, glueUrl \}/);
  });

  test("on a server that does not answer is an AssetError with the network's reason", async () => {
    const error = await rejection({ wasm: { url: "http://127.0.0.1:1/x.wasm" } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_NOT_FOUND" });
    expect(error.message).toMatch(/http:\/\/127\.0\.0\.1:1\/x\.wasm could not be fetched/);
  });

  test("that is missing on disk is named", async () => {
    const url = new URL("wasm/none.wasm", dist).href;
    expect(await rejection({ wasm: { url } })).toMatchObject({ name: "AssetError", code: "ASSET_NOT_FOUND" });
  });

  test("moved away from its package by Vite brings the line that cures it", async () => {
    const error = await rejection({ wasm: { url: `${origin}/node_modules/.vite/deps/wasm/headwise.simd.wasm` } });
    expect(error.hint).toContain('optimizeDeps: { exclude: ["headwise"] }');
  });

  test("that stops arriving is given up after 30 s of silence", async () => {
    jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "queueMicrotask", "performance", "Date"] });
    try {
      let loading!: Promise<HeadwiseError>;
      await new Promise((firstBytesCame) => {
        loading = rejection({ variant: "simd", wasm: { url: `${origin}/slow.wasm` }, onProgress: firstBytesCame });
      });
      await jest.advanceTimersByTimeAsync(30_000);
      const error = await loading;
      expect(error).toMatchObject({ name: "AssetError", code: "ASSET_TIMEOUT" });
      expect(error.message).toMatch(/no more of .*slow\.wasm arrived after 1000 bytes within 30 s$/);
    } finally {
      jest.useRealTimers();
    }
  });

  test("stops loading when the signal aborts, with the signal's reason", async () => {
    const controller = new AbortController();
    const reason = new Error("left the page");
    const loading = rejection({ wasm: { url: `${origin}/slow.wasm` }, signal: controller.signal });
    setTimeout(() => controller.abort(reason), 50);
    expect(await loading).toBe(reason);
    expect(await rejection({ signal: AbortSignal.abort(reason) })).toBe(reason);
  });
});

describe("the loader", () => {
  test("that is missing is an AssetError that names it", async () => {
    const glueUrl = new URL("wasm/none.js", dist).href;
    const error = await rejection({ wasm: { glueUrl } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_NOT_FOUND" });
    expect(error.message).toContain(glueUrl);
  });

  test("of another version is refused, and its threads are ended", async () => {
    const ended = "globalThis.endedByTest = true";
    const glueUrl = glue(
      `return Promise.resolve({ version: () => "0.0.1", PThread: { terminateAllThreads() { ${ended} } } })`,
    );
    const error = await rejection({ wasm: { glueUrl } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_VERSION" });
    expect(error.message).toMatch(/is of version 0\.0\.1, this is \d+\.\d+\.\d+/);
    expect(globalThis).toHaveProperty("endedByTest", true);
  });

  test("that does not fit the module is refused as of another version", async () => {
    const glueUrl = glue("return new Promise(() => options.instantiateWasm({}, () => {}))");
    const error = await rejection({ wasm: { glueUrl } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_VERSION" });
    expect(error.message).toMatch(/do not belong together/);
  });

  test("that fails to start is an AssetError with its reason", async () => {
    const error = await rejection({ wasm: { glueUrl: glue('return Promise.reject(new Error("no workers"))') } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_BLOCKED" });
    expect(error.message).toMatch(/no workers/);
  });
});

test("threads that start after loading was given up are ended", async () => {
  const controller = new AbortController();
  let startThreads!: () => void;
  const started = new Promise<void>((resolve) => (startThreads = resolve));
  const ended = new Promise<void>((resolve) => {
    const module = { PThread: { terminateAllThreads: resolve } };
    Object.assign(globalThis, {
      startOfTest() {
        controller.abort(new Error("enough"));
        return started.then(() => module);
      },
    });
  });
  const glueUrl = glue("return globalThis.startOfTest()");
  expect(await rejection({ wasm: { glueUrl }, signal: controller.signal })).toMatchObject({ message: "enough" });
  startThreads();
  await ended;
});

describe("options of createAttention", () => {
  test.each([
    [{ thread: 2 }, /unknown option "thread"; did you mean "threads"\?/],
    [{ wasm: { uri: "x" } }, /unknown option "uri" in wasm; did you mean "url"\?/],
    [{ threads: 0 }, /threads must be an integer from 1 to 256, got 0/],
    [{ threads: 1.5 }, /threads/],
    [{ threads: "two" }, /threads/],
    [{ variant: "simd128" }, /variant must be "auto" or "relaxed" or "simd", got "simd128"/],
    [{ backend: "cpu" }, /backend must be/],
    [{ maximumMemory: 1 }, /maximumMemory must be an integer from 16777216 to 4294967296, got 1/],
    [{ maximumMemory: 2 ** 33 }, /maximumMemory/],
    [{ wasm: { url: 3 } }, /wasm\.url must be an address, got 3/],
    [{ wasm: { binary: [0, 97] } }, /wasm\.binary must be an ArrayBuffer or a Uint8Array/],
    [{ wasm: { module: {} } }, /wasm\.module must be a WebAssembly\.Module/],
    [{ onProgress: 1 }, /onProgress must be a function/],
    [{ signal: {} }, /signal must be an AbortSignal/],
    [{ backend: "wasm", device: {} }, /device must be absent with backend "wasm"/],
    [{ device: 1 }, /device must be an object.*got 1/],
    [3, /options must be an object, got 3/],
  ])("%j are refused", async (options, message) => {
    const error = await rejection(options);
    expect(OptionError.is(error)).toBe(true);
    expect(error.message).toMatch(/^createAttention: /);
    expect(error.message).toMatch(message);
  });

  test('backend "webgpu" is an UnsupportedError, not a silent choice of wasm', async () => {
    expect(UnsupportedError.is(await rejection({ backend: "webgpu" }))).toBe(true);
  });

  test("the most memory that a module may have can be asked for", async () => {
    expect(await computes({ maximumMemory: 2 ** 32 })).toBe(true);
  });
});

describe("the report", () => {
  test("tells what runs, and why not something better", async () => {
    const hw = await createAttention({ variant: "simd", threads: 2, profile: true });
    const { version } = JSON.parse(await readFile(new URL("../package.json", dist), "utf8")) as { version: string };
    expect(hw.report).toMatchObject({ version, backend: "wasm", variant: "simd", threads: 2 });
    expect(hw.report.reasons).toMatchObject({
      webgpu: expect.stringMatching(/no navigator.gpu/),
      profile: expect.any(String),
    });
    hw.dispose();
  });

  test("gives no reason for what was asked for by name", async () => {
    const hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
    expect(hw.report.reasons).toEqual({});
    hw.dispose();
  });
});
