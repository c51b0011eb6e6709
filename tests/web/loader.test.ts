import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import {
  AssetError,
  createAttention,
  type HeadwiseError,
  type LoadProgress,
  OptionError,
  UnsupportedError,
  type CreateOptions,
} from "headwise";

import { variants } from "./engines.js";

const dist = new URL("../../dist/", import.meta.url);
const wasm = await readFile(new URL("wasm/headwise.simd.wasm", dist));

/** The module in pieces. An engine compiles it while it arrives only if its content type is that of WebAssembly. */
const inPieces =
  (type = "application/wasm"): RequestListener =>
  (_, response) => {
    response.writeHead(200, { "content-type": type, "content-length": wasm.length });
    for (let at = 0; at < wasm.length; at += 10_000) response.write(wasm.subarray(at, at + 10_000));
    response.end();
  };

const answers: Record<string, RequestListener> = {
  "/headwise.wasm": inPieces(),
  "/held/headwise.simd.wasm": inPieces("application/octet-stream"),
  "/failing/headwise.simd.wasm": inPieces("application/octet-stream"),
  "/page.wasm": (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>"),
  "/empty.wasm": (_, response) => response.writeHead(200, { "content-type": "application/wasm" }).end(),
  "/cut.wasm": (_, response) => response.writeHead(200).end(wasm.subarray(0, 1000)),
  "/slow.wasm": (_, response) => response.writeHead(200).write(wasm.subarray(0, 1000)),
  "/torn.wasm": (_, response) => {
    response.writeHead(200, { "content-length": wasm.length });
    response.write(wasm.subarray(0, 1000), () => setTimeout(() => response.destroy(), 20));
  },
  "/wordless.wasm": (_, response) => response.writeHead(404).flushHeaders(),
  "/silent.js": () => undefined,
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

/** A loader like the one of Emscripten, as far as headwise uses it. */
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

/** Bytes whose memory was transferred to another thread. */
function detached(): Uint8Array {
  const bytes = new Uint8Array(wasm);
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
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

  test("of another origin has no known total: its length may be that of compressed bytes", async () => {
    const response = new Response(wasm, { headers: { "content-length": "1000" } });
    const fetched = jest
      .spyOn(globalThis, "fetch")
      .mockResolvedValue(Object.defineProperty(response, "type", { value: "cors" }));
    const progress: LoadProgress[] = [];
    const url = `${origin}/elsewhere.wasm`;
    expect(await computes({ wasm: { url }, onProgress: (now) => void progress.push(now) })).toBe(true);
    fetched.mockRestore();
    expect(progress.at(-1)).toEqual({ phase: "download", loaded: wasm.length, total: 0 });
  });

  test("may come as bytes or as a compiled module", async () => {
    expect(await computes({ wasm: { binary: new Uint8Array(wasm) } })).toBe(true);
    expect(await computes({ wasm: { binary: new Uint8Array(wasm).buffer } })).toBe(true);
    expect(await computes({ wasm: { module: await WebAssembly.compile(wasm) } })).toBe(true);
  });

  test.each([
    [
      "none.wasm",
      "ASSET_NOT_FOUND",
      /\/none\.wasm was not found: HTTP 404, content type text\/plain, first bytes 6e 6f( [\da-f]{2})+$/,
    ],
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
    expect(error.hint).toMatch(/wasm: \{ url, lateUrl, glueUrl \}/);
  });

  test("on a server that does not answer is an AssetError with the network's reason", async () => {
    const error = await rejection({ wasm: { url: "http://127.0.0.1:1/x.wasm" } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_NOT_FOUND" });
    expect(error.message).toMatch(/http:\/\/127\.0\.0\.1:1\/x\.wasm could not be fetched/);
  });

  test("that is missing on disk is named, with what to check on a disk", async () => {
    const url = new URL("wasm/none.wasm", dist).href;
    const error = await rejection({ wasm: { url } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_NOT_FOUND" });
    expect(error.message).toContain(`createAttention: ${url} could not be read`);
    expect(error.hint).toMatch(/^Check that this file is there.*install headwise again/);
    expect(error.hint).not.toMatch(/Serve/);
  });

  test.each([
    ["Vite", "node_modules/.vite"],
    ["Nuxt", "_nuxt/@fs/app/node_modules/.cache/vite/client"],
    ["Storybook", "node_modules/.cache/storybook/1a2b/sb-vite"],
    ["VitePress", "docs/.vitepress/cache"],
  ])("moved away from its package by %s brings the line that cures it", async (_tool, cache) => {
    const error = await rejection({ wasm: { url: `${origin}/${cache}/deps/wasm/headwise.simd.wasm` } });
    expect(error.hint).toContain('optimizeDeps: { exclude: ["headwise"] }');
  });

  test.each([
    ["Firefox", "call to WebAssembly.compile() blocked by CSP"],
    [
      "Safari",
      "Refused to create a WebAssembly object because 'unsafe-eval' or 'wasm-unsafe-eval' is not an allowed source",
    ],
    ["Chrome", "WebAssembly.compile(): violates the following Content Security policy directive because neither"],
  ])("that the page's policy forbids to compile says how to allow it, in %s", async (_browser, text) => {
    const compile = jest.spyOn(WebAssembly, "compile").mockRejectedValue(new WebAssembly.CompileError(text));
    const error = await rejection({ threads: 1, wasm: { binary: wasm } });
    compile.mockRestore();
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_BLOCKED" });
    expect(error.message).toMatch(/the page's content security policy forbids WebAssembly/);
    expect(error.hint).toMatch(/'wasm-unsafe-eval'/);
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

  test("whose connection breaks is an AssetError with the network's reason", async () => {
    const error = await rejection({ variant: "simd", wasm: { url: `${origin}/torn.wasm` } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_NOT_FOUND" });
    expect(error.message).toMatch(/^createAttention: no more of .*torn\.wasm arrived after 1000 bytes: TypeError: ./);
  });

  test.each([
    [
      "refused without a word",
      { variant: "simd", wasm: { url: "wordless.wasm" } },
      /wordless\.wasm was not found: HTTP 404/,
    ],
    ["a loader on a silent server", { wasm: { glueUrl: "silent.js" } }, /silent\.js could not be loaded: ./],
  ])("that is %s is given up after 30 s", async (_name, options, message) => {
    const wasm = Object.fromEntries(Object.entries(options.wasm).map(([name, file]) => [name, `${origin}/${file}`]));
    jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "queueMicrotask", "performance", "Date"] });
    try {
      let error: HeadwiseError | undefined;
      void rejection({ ...options, wasm }).then((thrown) => (error = thrown));
      for (let turn = 0; turn < 100 && !error; ++turn) {
        await new Promise((resolve) => setImmediate(resolve));
        await jest.advanceTimersByTimeAsync(1000);
      }
      expect(error?.message).toMatch(message);
    } finally {
      jest.useRealTimers();
    }
  });

  test("stops loading with what onProgress throws", async () => {
    const thrown = new Error("the listener's own");
    const onProgress = () => {
      throw thrown;
    };
    expect(await rejection({ threads: 1, onProgress })).toBe(thrown);
    expect(await rejection({ threads: 1, onProgress, wasm: { url: `${origin}/headwise.wasm` } })).toBe(thrown);
  });

  test("stops loading by a signal of an old engine, without throwIfAborted and reason", async () => {
    const listeners: (() => void)[] = [];
    const signal = { aborted: false, addEventListener: (_: string, listener: () => void) => listeners.push(listener) };
    const loading = rejection({ wasm: { url: `${origin}/slow.wasm` }, signal });
    await new Promise((resolve) => setTimeout(resolve, 50));
    signal.aborted = true;
    listeners.forEach((listener) => listener());
    expect(await loading).toMatchObject({ name: "AbortError" });
    expect(await rejection({ signal })).toMatchObject({ name: "AbortError" });
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

describe("the compiled file", () => {
  /** What `work` compiles: how often, and the progress that it hears. */
  async function compilations(options: CreateOptions): Promise<{ count: number; heard: LoadProgress[] }> {
    const ways = [jest.spyOn(WebAssembly, "compile"), jest.spyOn(WebAssembly, "compileStreaming")];
    const heard: LoadProgress[] = [];
    try {
      expect(await computes({ ...options, onProgress: (progress) => heard.push(progress) })).toBe(true);
      return { count: ways.reduce((sum, { mock }) => sum + mock.calls.length, 0), heard };
    } finally {
      for (const way of ways) way.mockRestore();
    }
  }

  test("is shared: a second instance loads and compiles nothing, and hears once that all bytes are there", async () => {
    await computes({});
    const { count, heard } = await compilations({});
    expect(count).toBe(0);
    expect(heard).toEqual([{ phase: "download", loaded: wasm.length, total: wasm.length }]);
  });

  test("is shared by instances with the same baseUrl", async () => {
    const baseUrl = new URL("wasm/", dist);
    await computes({ wasm: { baseUrl } });
    expect((await compilations({ wasm: { baseUrl } })).count).toBe(0);
  });

  test("of an address that the caller gives is compiled each time", async () => {
    const url = `${origin}/headwise.wasm`;
    await computes({ wasm: { url } });
    expect((await compilations({ wasm: { url } })).count).toBe(1);
  });

  test("that could not be used is loaded again", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headwise-"));
    try {
      const file = (name: string) => path.join(folder, name);
      for (const name of ["headwise.simd.node.js", "headwise.simd.wasm"])
        cpSync(new URL(`wasm/${name}`, dist), file(name));
      const source = { threads: 1, variant: "simd", wasm: { baseUrl: pathToFileURL(folder) } } as const;
      for (const unusable of [wasm.subarray(0, 1000), Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)]) {
        writeFileSync(file("headwise.simd.wasm"), unusable);
        expect(await rejection(source)).toMatchObject({ code: "ASSET_INVALID" });
      }
      writeFileSync(file("headwise.simd.wasm"), wasm);
      expect(await computes(source)).toBe(true);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("is chosen once: a second instance does not ask again what this engine can run", async () => {
    await computes({});
    const validate = jest.spyOn(WebAssembly, "validate");
    expect(await computes({})).toBe(true);
    expect(validate).not.toHaveBeenCalled(); // V8 keeps 32 bytes of each module that it has validated
    validate.mockRestore();
  });

  test("of headwise/inline is shared too", async () => {
    const { createAttention: createInline } = await import("headwise/inline");
    (await createInline()).dispose();
    const compile = jest.spyOn(WebAssembly, "compile");
    (await createInline()).dispose();
    expect(compile).not.toHaveBeenCalled();
    compile.mockRestore();
  });
});

describe("a valid module that the loader cannot run is refused before it runs:", () => {
  /** A module without imports and exports. */
  const foreign = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  const labelOf = (module: Uint8Array) => Buffer.from(module).toString("latin1").split("headwise{")[1]!;

  test.each([
    ["as bytes", () => Promise.resolve({ binary: foreign })],
    ["compiled", async () => ({ module: await WebAssembly.compile(foreign) })],
    [
      "at an address",
      () => Promise.resolve({ url: `data:application/wasm;base64,${Buffer.from(foreign).toString("base64")}` }),
    ],
  ])("one of others, %s", async (_, source) => {
    for (const threads of [1, 3]) {
      const error = await rejection({ threads, wasm: await source() });
      expect(error).toMatchObject({ name: "AssetError", code: "ASSET_INVALID" });
      expect(error.message).toMatch(/^createAttention: \S+ is WebAssembly, but not a module of headwise$/);
    }
  });

  test("one whose label cannot be read", async () => {
    const binary = new Uint8Array(wasm);
    binary.fill(0x20, binary.length - labelOf(wasm).length);
    expect(await rejection({ wasm: { binary } })).toMatchObject({ code: "ASSET_INVALID" });
  });

  test("one of another version", async () => {
    const { version } = JSON.parse(`{${labelOf(wasm)}`) as { version: string };
    const other = version.replace(/\d/g, "9");
    const at = wasm.lastIndexOf(version);
    const binary = Buffer.concat([wasm.subarray(0, at), Buffer.from(other), wasm.subarray(at + version.length)]);
    const error = await rejection({ wasm: { binary: new Uint8Array(binary) } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_VERSION" });
    expect(error.message).toMatch(`createAttention: wasm.binary is of version ${other}, this is ${version}`);
  });

  test("that of headwise/inline", async () => {
    const url = new URL("wasm/headwise.inline.wasm", dist).href;
    const error = await rejection({ wasm: { url } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_INVALID" });
    expect(error.message).toMatch(/headwise\.inline\.wasm is the module of headwise\/inline$/);
    expect(error.hint).toMatch(/headwise\.simd\.wasm/);
  });

  const hasBoth = variants.length === 2;
  const reason = hasBoth ? "" : " (skipped: this Node has no relaxed SIMD)";
  (hasBoth ? test : test.skip)(`one of another variant than the one that was asked for${reason}`, async () => {
    for (const [variant, other] of [
      ["simd", "relaxed"],
      ["relaxed", "simd"],
    ]) {
      const url = new URL(`wasm/headwise.${other}.wasm`, dist).href;
      const error = await rejection({ variant, wasm: { url } });
      expect(error).toMatchObject({ name: "AssetError", code: "ASSET_VERSION" });
      expect(error.message).toContain(`is the ${other} variant, and variant "${variant}" was asked for`);
    }
  });
});

test("bytes are read when createAttention is called: what becomes of them later does not matter", async () => {
  const binary = new Uint8Array(wasm);
  const computing = computes({ wasm: { binary } });
  binary.fill(0);
  expect(await computing).toBe(true);
});

describe("a folder of the caller's", () => {
  let folder: string;
  beforeAll(() => {
    folder = path.join(mkdtempSync(path.join(tmpdir(), "headwise base ")), "copied");
    cpSync(fileURLToPath(new URL("wasm/", dist)), folder, { recursive: true });
    rmSync(path.join(folder, "headwise.relaxed.node.js"), { force: true });
  });
  afterAll(() => rmSync(path.dirname(folder), { recursive: true }));

  test("has all files, whether its address ends with a slash or not, is a URL or a path", async () => {
    const { href } = pathToFileURL(folder);
    for (const baseUrl of [href, `${href}/`, `${href}?v=1`, pathToFileURL(folder), folder, path.relative(".", folder)])
      expect(await computes({ threads: 2, wasm: { baseUrl } })).toBe(true);
  });

  test("is where a file is missed", async () => {
    const missing = pathToFileURL(path.join(folder, "nowhere")).href;
    const error = await rejection({ variant: "simd", wasm: { baseUrl: missing } });
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_NOT_FOUND" });
    expect(error.message).toMatch(`${missing}/headwise.simd.`);
  });

  test("gives way to addresses of single files", async () => {
    const url = new URL("wasm/headwise.simd.wasm", dist);
    const glueUrl = new URL("wasm/headwise.simd.node.js", dist);
    expect(await computes({ wasm: { baseUrl: "file:///nowhere/", url, glueUrl } })).toBe(true);
    const error = await rejection({ wasm: { baseUrl: "file:///nowhere/", url } });
    expect(error.message).toContain("file:///nowhere/headwise.simd.node.js");
  });
});

describe("the loader", () => {
  test("that never comes is not waited for when the signal aborts", async () => {
    const controller = new AbortController();
    const glueUrl = "data:text/javascript,await new Promise(() => undefined)";
    const loading = rejection({ variant: "simd", wasm: { binary: wasm, glueUrl }, signal: controller.signal });
    const began = performance.now();
    setTimeout(() => controller.abort("enough"), 50);
    expect(await loading).toBe("enough");
    expect(performance.now() - began).toBeLessThan(20_000); // it would be given up after 30 s
  });

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

test.each([
  ["export const create = 1", "ASSET_INVALID", /is not the engine's loader: it has no function as its default export$/],
  ["export default () => undefined", "ASSET_VERSION", /is of version unknown/],
  ["export default () => { throw new Error('no') }", "ASSET_BLOCKED", /the engine did not start: Error: no$/],
  [
    `export default () => { throw new TypeError("This document requires 'TrustedScriptURL' assignment.") }`,
    "ASSET_BLOCKED",
    /requires 'TrustedScriptURL'/,
  ],
  [
    `export default (options) => new Promise(() => {
      const a = new Proxy({}, { get: (_, name) => name === "a" ? options.wasmMemory : () => 0 });
      options.instantiateWasm({ a }, () => { throw new Error("no such export") });
    })`,
    "ASSET_VERSION",
    /do not belong together: Error: no such export$/,
  ],
  [
    "export default () => Promise.reject(Object.create(null))",
    "ASSET_BLOCKED",
    /did not start: an object that is no error$/,
  ],
  ["export default () => Promise.reject(Symbol('s'))", "ASSET_BLOCKED", /did not start: Symbol\(s\)$/],
  [
    "export default () => Promise.reject({ get message() { throw 1 } })",
    "ASSET_BLOCKED",
    /did not start: an object that cannot be read$/,
  ],
])("a loader of `%s` is an AssetError of code %s", async (code, expected, message) => {
  const glueUrl = `data:text/javascript,${encodeURIComponent(code)}`;
  const error = await rejection({ threads: 1, wasm: { glueUrl } });
  expect(error).toMatchObject({ name: "AssetError", code: expected });
  expect(error.message).toMatch(message);
  if (code.includes("TrustedScriptURL")) expect(error.hint).toMatch(/require-trusted-types-for.*"default"/);
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

describe("while the module is compiled", () => {
  /** Compiles with `finish`, but not before a loader has called `globalThis.startOfTest`. */
  function holdCompilation(
    finish: (bytes: BufferSource) => WebAssembly.Module,
  ): jest.Spied<typeof WebAssembly.compile> {
    const started = new Promise<unknown>((resolve) => Object.assign(globalThis, { startOfTest: resolve }));
    return jest.spyOn(WebAssembly, "compile").mockImplementation(async (bytes) => {
      await started;
      return finish(bytes);
    });
  }

  test("threads already start", async () => {
    const compile = holdCompilation((bytes) => new WebAssembly.Module(bytes));
    const glueUrl = glue("globalThis.startOfTest(options); return Promise.reject(new Error('it started'))");
    const error = await rejection({ variant: "simd", wasm: { glueUrl, baseUrl: `${origin}/held/` } });
    compile.mockRestore();
    expect(error.message).toMatch(/it started/);
  });

  test("a failure ends the threads that have started, and is the error", async () => {
    const compile = holdCompilation(() => {
      throw new WebAssembly.CompileError("no such opcode");
    });
    const ended = new Promise((resolve) => Object.assign(globalThis, { endOfTest: resolve }));
    const glueUrl = glue(`
      options.PThread = { terminateAllThreads: globalThis.endOfTest };
      globalThis.startOfTest();
      return new Promise(() => options.instantiateWasm({}, () => {}));`);
    const error = await rejection({ variant: "simd", wasm: { glueUrl, baseUrl: `${origin}/failing/` } });
    compile.mockRestore();
    expect(error).toMatchObject({ name: "AssetError", code: "ASSET_INVALID" });
    expect(error.message).toMatch(/no such opcode/);
    await ended;
  });
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
    [
      { wasm: { module: { [Symbol.toStringTag]: "WebAssembly.Module" } } },
      /wasm\.module must be a WebAssembly\.Module/,
    ],
    [
      { wasm: { binary: { [Symbol.toStringTag]: "Uint8Array" } } },
      /wasm\.binary must be an ArrayBuffer or a Uint8Array/,
    ],
    [{ wasm: { binary: detached() } }, /wasm\.binary must be an ArrayBuffer or a Uint8Array, not detached/],
    [{ wasm: { binary: detached().buffer } }, /wasm\.binary must be an ArrayBuffer or a Uint8Array, not detached/],
    [{ wasm: { url: { [Symbol.toStringTag]: "URL", href: 5 } } }, /wasm\.url must be an address, got/],
    [{ wasm: { baseUrl: 5 } }, /wasm\.baseUrl must be an address, got 5/],
    [{ wasm: { baseUrl: "data:,x" } }, /wasm\.baseUrl must be the address of a folder, got "data:,x"/],
    [{ wasm: { baseUrl: "blob:x" }, backend: "webgpu" }, /wasm\.baseUrl must be the address of a folder, got "blob:x"/],
    [{ wasm: { url: "x.wasm", binary: new Uint8Array(8) } }, /wasm\.url must be absent beside wasm\.binary/],
    [
      { wasm: { lateUrl: "x.wasm", lateBinary: new Uint8Array(8) } },
      /wasm\.lateUrl must be absent beside wasm\.lateBinary/,
    ],
    [{ wasm: { lateUrl: 3 } }, /wasm\.lateUrl must be an address, got 3/],
    [{ wasm: { lateBinary: [0] } }, /wasm\.lateBinary must be an ArrayBuffer or a Uint8Array, not detached/],
    [{ wasm: { lateModule: {} } }, /wasm\.lateModule must be a WebAssembly\.Module/],
    [{ wasm: { glueUrl: "http://" } }, /wasm\.glueUrl must be an address, got "http:\/\/"/],
    [{ threads: 128, maximumMemory: 2 ** 25 }, /maximumMemory must be at least 67108864 for 128 threads.*got 33554432/],
    [{ onProgress: 1 }, /onProgress must be a function/],
    [{ signal: {} }, /signal must be an AbortSignal/],
    [{ backend: "wasm", device: {} }, /device must be absent with backend "wasm"/],
    [{ backend: "wasm", tiling: "wide" }, /tiling must be absent with backend "wasm"/],
    [{ backend: "webgpu", variant: "simd" }, /variant must be absent with backend "webgpu"/],
    [{ backend: "webgpu", wasm: { url: "x.wasm" } }, /wasm\.url must be absent with backend "webgpu"/],
    [{ backend: "webgpu", wasm: { lateModule: {} } }, /wasm\.lateModule must be absent with backend "webgpu"/],
    [{ device: 1 }, /device must be an object.*got 1/],
    [3, /options must be an object, got 3/],
  ])("%j are refused", async (options, message) => {
    const error = await rejection(options);
    expect(OptionError.is(error)).toBe(true);
    expect(error.message).toMatch(/^createAttention: /);
    expect(error.message).toMatch(message);
  });

  test("that leave the choice to headwise are taken by every backend", async () => {
    const choice = { threads: "auto", variant: "auto", tiling: "auto", calibrate: false } as const;
    for (const backend of ["auto", "wasm"] as const) expect(await computes({ ...choice, backend })).toBe(true);
    expect(UnsupportedError.is(await rejection({ ...choice, backend: "webgpu" }))).toBe(true); // there is no GPU here
    expect((await rejection({ backend: "wasm", tiling: "wide" })).hint).toMatch(
      /^Backends "webgpu" and "auto" take it\./,
    );
  });

  test("threads that fill half of the memory compute", async () => {
    expect(await computes({ threads: 32, maximumMemory: 2 ** 24 })).toBe(true);
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

  test("names the variant that was loaded, whichever file it came from", async () => {
    const file = (ending: string) => new URL(`wasm/headwise.simd.${ending}`, dist);
    for (const source of [{ url: file("wasm"), glueUrl: file("node.js") }, { binary: new Uint8Array(wasm) }]) {
      const hw = await createAttention({ backend: "wasm", threads: 1, wasm: source });
      hw.dispose();
      expect(hw.report.variant).toBe("simd");
      expect(hw.report.reasons["variant"]).toMatch(/the module given as wasm is the simd variant|no relaxed SIMD/);
    }
  });

  test("gives no reason for what was asked for by name", async () => {
    const hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
    expect(hw.report.reasons).toEqual({});
    hw.dispose();
  });
});
