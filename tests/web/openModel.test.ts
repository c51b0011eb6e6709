// Models by address: what is asked for, what is kept, and what happens when a server or a connection fails.

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { createAttention, OptionError, type Attention } from "headwise";
import {
  hub,
  inspectModel,
  loadModel,
  loadTokenizer,
  NetworkError,
  openModel,
  type ModelFileList,
  type OpenModelOptions,
  type OpenProgress,
} from "headwise/models";

import { Requests } from "../../web/src/remote/requests.js";
import { serveModel, type ModelServer } from "./modelServer.js";
import { errorOf } from "./refusal.js";
import { CONFIGS, filesOf, randomWeights, shapesOf, shardedFilesOf, textFile, type Kind } from "./smallModels.js";

const MIB = 2 ** 20;
const HEAD = 2 ** 16;
const BLOCK = 4 * MIB;

let hw: Attention;
let server: ModelServer;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => hw.dispose());
beforeEach(async () => {
  server = await serveModel({});
});
afterEach(() => server.stop());

const small = (kind: Kind) => filesOf(CONFIGS[kind], randomWeights(shapesOf(kind)));
/** The address of the server's model, in the layout of a hub. */
const address = () => hub("owner/name", { host: server.url });
const open = (options?: OpenModelOptions) => openModel(address(), options);

async function logitsOf(files: ModelFileList): Promise<Float32Array> {
  const model = await loadModel(hw, files);
  const { logits } = await model.run([3, 1, 4, 1, 5]);
  model.dispose();
  return logits!.data;
}

/** Large weights whose every byte tells its place; no model. */
const pattern = (size: number) =>
  Uint8Array.from({ length: size }, (_, n) => (n * 31 + (n >> 8) * 7 + (n >> 16)) & 255);
const large = (size: number) => ({ "config.json": textFile({}), "model.safetensors": pattern(size) });
const weightsOf = async (options?: OpenModelOptions) => (await open(options))["model.safetensors"]!;
const bytesOf = async (
  file: { slice(from: number, to: number): { arrayBuffer(): Promise<ArrayBuffer> } },
  from: number,
  to: number,
) => new Uint8Array(await file.slice(from, to).arrayBuffer());
/** The files that this process has open, on Linux. */
const openFiles = () =>
  readdirSync("/proc/self/fd").map((number) => {
    try {
      return readlinkSync(`/proc/self/fd/${number}`);
    } catch {
      return ""; // the one that was open to read the list
    }
  });
/** Jest takes minutes to compare megabytes number by number. */
const areSame = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;
/** A BERT, and how embeddings of texts are made. */
const sentenceFiles = (pooling = "1_Pooling") => ({
  ...small("bert"),
  "modules.json": textFile([
    { idx: 0, name: "0", path: "", type: "sentence_transformers.models.Transformer" },
    { idx: 1, name: "1", path: pooling, type: "sentence_transformers.models.Pooling" },
    { idx: 2, name: "2", path: "2_Normalize", type: "sentence_transformers.models.Normalize" },
  ]),
  "2_Normalize/config.json": textFile({ module_input_name: "sentence_embedding" }),
  [`${pooling}/config.json`]: textFile({ pooling_mode_mean_tokens: true }),
});

/** Ranges of the weights that were asked for after they were opened. */
const blocksAsked = () =>
  server.asked
    .filter(({ file, range }) => file === "model.safetensors" && range !== `bytes=0-${HEAD - 1}`)
    .map(({ range }) => range);

describe("a model by its address", () => {
  test.each(["gpt2", "bert", "qwen2"] as const)("computes what its files compute: %s", async (kind) => {
    server.files = small(kind);
    expect(await logitsOf(await open())).toEqual(await logitsOf(small(kind)));
  });

  test("may have shards; only those of the index are asked for", async () => {
    server.files = shardedFilesOf(CONFIGS.llama, randomWeights(shapesOf("llama")), "F32", 3);
    const files = await open();
    expect(Object.keys(files).filter((name) => name.includes("-of-"))).toHaveLength(3);
    expect(await logitsOf(files)).toEqual(await logitsOf(server.files as ModelFileList));
  });

  test("may have the files of sentence-transformers; the pooling is asked for only if modules.json names it", async () => {
    server.files = sentenceFiles();
    const files = await open();
    expect(Object.keys(files)).toEqual(expect.arrayContaining(["1_Pooling/config.json", "2_Normalize/config.json"]));
    const model = await loadModel(hw, files);
    expect((await model.run([3, 1])).embedding!.shape).toEqual([16]);
    model.dispose();
    server.files = small("bert");
    server.asked.length = 0;
    await open();
    expect(server.asked.filter(({ file }) => file.includes("Pooling"))).toEqual([]);
  });

  test("may have its pooling in another folder, as modules.json says, but not outside of its own", async () => {
    server.files = sentenceFiles("sentence/pooling");
    expect(Object.keys(await open())).toContain("sentence/pooling/config.json");
    for (const path of ["../1_Pooling", "1_Pooling/../../other", "/1_Pooling", "", "."]) {
      server.files = sentenceFiles(path);
      server.asked.length = 0;
      const files = await open();
      expect(server.asked.filter(({ file }) => /ooling|other/.test(file))).toEqual([]);
      expect((await errorOf(inspectModel(files))).message).toMatch(
        /files must have .*config\.json, which modules\.json names/,
      );
    }
  });

  test.each([
    ["ends without a slash", (text: string) => text.slice(0, -1)],
    ["is that of config.json", (text: string) => `${text}config.json`],
    ["is a URL", (text: string) => new URL(text)],
  ])("is opened if the address %s", async (_, form) => {
    server.files = small("gpt2");
    expect((await inspectModel(await openModel(form(address())))).config.modelType).toBe("gpt2");
  });

  test("reads 64 KiB of weights before they are needed, and no byte of them twice", async () => {
    server.files = large(9 * MIB);
    const weights = await weightsOf();
    expect(blocksAsked()).toEqual([]);
    expect(weights.size).toBe(9 * MIB);
    expect(areSame(await bytesOf(weights, 8, HEAD), pattern(HEAD).subarray(8))).toBe(true);
    expect(blocksAsked()).toEqual([]);
    for (const [from, to] of [
      [0, 100_000],
      [BLOCK - 5, BLOCK + 5],
      [3 * MIB, 9 * MIB],
      [9 * MIB - 1, 9 * MIB],
      [7, 7],
      [9, 2],
      [-9, -2],
      [-10 * MIB, 3],
    ] as const)
      expect(areSame(await bytesOf(weights, from, to), pattern(9 * MIB).subarray(from, to))).toBe(true);
    expect(blocksAsked()).toEqual([
      `bytes=0-${BLOCK - 1}`,
      `bytes=${BLOCK}-${2 * BLOCK - 1}`,
      `bytes=${2 * BLOCK}-${9 * MIB - 1}`,
    ]);
  });

  test("gives headers to every request", async () => {
    server.files = small("gpt2");
    await open({ headers: { authorization: "Bearer me" } });
    expect(new Set(server.asked.map(({ headers }) => headers.authorization))).toEqual(new Set(["Bearer me"]));
  });

  test("reports what has come of each file", async () => {
    server.files = large(5 * MIB);
    const seen: OpenProgress[] = [];
    const weights = await weightsOf({ onProgress: (progress) => void seen.push(progress) });
    await weights.arrayBuffer();
    const last = (file: string) => seen.findLast((each) => each.file === file)!;
    expect(last("config.json").loadedBytes).toBe(2);
    expect(last("model.safetensors")).toEqual({ file: "model.safetensors", loadedBytes: 5 * MIB, totalBytes: 5 * MIB });
    expect(seen.length).toBeGreaterThan(10);
  });

  test("has the files of its tokenizer", async () => {
    class Words {
      constructor(readonly json: { words: string[] }) {}
      encode = (text: string) => text.split(" ").map((word) => this.json.words.indexOf(word));
      decode = (tokens: number[]) => tokens.map((token) => this.json.words[token]).join(" ");
    }
    server.files = { ...small("gpt2"), "tokenizer.json": textFile({ words: ["a", "b"] }) };
    expect((await loadTokenizer(await open(), Words)).encode("b a")).toEqual([1, 0]);
    server.files = { ...server.files, "chat_template.jinja": new TextEncoder().encode("a b") };
    class Plain {
      readonly render: () => string;
      constructor(template: string) {
        this.render = () => template;
      }
    }
    const tokenizer = await loadTokenizer(await open(), Words, { template: Plain });
    expect(tokenizer.applyChatTemplate([{ role: "user", content: "" }]).tokens).toEqual([0, 1]);
    const tools = { "additional_chat_templates/tool_use.jinja": new TextEncoder().encode("b a") };
    server.files = { ...server.files, ...tools };
    const other = await loadTokenizer(await open(), Words, { template: Plain });
    expect(other.applyChatTemplate([{ role: "user", content: "" }], { tools: [] }).tokens).toEqual([1, 0]);
  });

  test("without weights that can be read says which there are", async () => {
    server.files = { "config.json": small("gpt2")["config.json"]!, "pytorch_model.bin": Uint8Array.of(1) };
    expect((await errorOf(loadModel(hw, await open()))).message).toContain(
      "pytorch_model.bin holds weights of PyTorch",
    );
  });
});

describe("a connection that breaks", () => {
  test("is taken up where it has stopped", async () => {
    server.files = large(6 * MIB);
    const weights = await weightsOf();
    const cuts = [MIB, 2 * MIB];
    server.behaviour = { cutAfter: ({ range }) => (range?.startsWith(`bytes=${BLOCK}`) ? undefined : cuts.shift()) };
    expect(areSame(await bytesOf(weights, 0, BLOCK), pattern(BLOCK))).toBe(true);
    const firsts = blocksAsked().map((range) => Number(/\d+/.exec(range!)![0]));
    expect(firsts.filter((first) => first < BLOCK)).toHaveLength(3);
    expect(firsts.some((first) => first > 0 && first < BLOCK)).toBe(true);
  });

  test.each([503, 429])("so does one that is answered with %s for a while", async (status) => {
    server.files = small("gpt2");
    let refusals = 2;
    server.behaviour = {
      intercept: (_, response) => refusals-- > 0 && Boolean(response.writeHead(status).end()),
    };
    expect((await inspectModel(await open())).config.modelType).toBe("gpt2");
  });

  test("ends with a NetworkError if nothing comes; what comes later is read at the next call", async () => {
    server.files = large(5 * MIB);
    const weights = await weightsOf();
    server.behaviour = { cutAfter: () => 0 };
    const error = await errorOf(bytesOf(weights, MIB, 2 * MIB));
    expect(error).toMatchObject({ name: "NetworkError", code: "NETWORK" });
    expect(error.message).toContain("could not be reached, also after 5 tries");
    server.behaviour = {};
    expect(areSame(await bytesOf(weights, MIB, 2 * MIB), pattern(2 * MIB).subarray(MIB))).toBe(true);
  });

  test("to a server that is not there names the address", async () => {
    const gone = address();
    await server.stop();
    const error = await errorOf(openModel(gone));
    expect(error.message).toBe(`openModel: ${gone}config.json: the server could not be reached, also after 5 tries`);
    expect(error.hint).toContain("connect-src");
    server = await serveModel({});
  });
});

describe("a server", () => {
  test.each([
    [401, "the server refuses the file (status 401)", "authorization"],
    [403, "the server refuses the file (status 403)", "authorization"],
    [400, "the server answers (status 400)", "troubleshooting"],
    [404, "there is no config.json at", "folder"],
  ])("that answers with %s is a NetworkError with its status", async (status, message, hint) => {
    server.behaviour = { intercept: (_, response) => Boolean(response.writeHead(status).end()) };
    const error = await errorOf(open());
    expect(error).toMatchObject({ name: "NetworkError", status });
    expect(NetworkError.is(error)).toBe(true);
    expect(error.message).toContain(message);
    expect(error.hint).toContain(hint);
  });

  test("that forbids what it does not have opens the rest", async () => {
    server.files = small("gpt2");
    server.behaviour = {
      intercept: ({ file }, response) => !(file in server.files) && Boolean(response.writeHead(403).end()),
    };
    expect(Object.keys(await open())).toEqual(["config.json", "model.safetensors"]);
    const { "2_Normalize/config.json": _, ...files } = sentenceFiles(); // an older one
    server.files = { ...files, "chat_template.jinja": new TextEncoder().encode("a b") };
    expect(Object.keys(await open())).toEqual([
      "config.json",
      "chat_template.jinja",
      "modules.json",
      "model.safetensors",
      "1_Pooling/config.json",
    ]);
  });

  test("without ranges sends each file whole, also in two pieces", async () => {
    server.files = large(MIB);
    const cuts = [300_000];
    server.behaviour = {
      hasRanges: false,
      cutAfter: ({ file }) => (file === "model.safetensors" ? cuts.shift() : undefined),
    };
    const weights = await weightsOf();
    expect(weights.size).toBe(MIB);
    expect(areSame(await bytesOf(weights, 500_000, 500_010), pattern(MIB).subarray(500_000, 500_010))).toBe(true);
    expect(blocksAsked().length).toBeLessThanOrEqual(1); // the rest of the file that was cut
  });

  test("that hides Content-Range is asked for the size", async () => {
    server.files = large(5 * MIB);
    server.behaviour = { saysRange: false };
    const weights = await weightsOf();
    expect(weights.size).toBe(5 * MIB);
    expect(areSame(await bytesOf(weights, BLOCK, BLOCK + 9), pattern(5 * MIB).subarray(BLOCK, BLOCK + 9))).toBe(true);
    const headsOf = (name: string) => server.asked.filter(({ file, method }) => file === name && method === "HEAD");
    expect(headsOf("model.safetensors")).toHaveLength(1);
  });

  test("that hides how large a file is, and does not answer when it is asked, is given up after 30 s", async () => {
    jest.useFakeTimers();
    const silent = (_: unknown, { signal }: RequestInit = {}) =>
      new Promise<never>((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));
    const fetching = jest.spyOn(globalThis, "fetch").mockImplementation(silent);
    const failing = errorOf(new Requests("openModel", { headers: {}, signal: undefined }).sizeOf("http://localhost/a"));
    await jest.advanceTimersByTimeAsync(31_000);
    jest.useRealTimers();
    fetching.mockRestore();
    expect((await failing).message).toBe(
      "openModel: http://localhost/a: the server does not tell how large the file is",
    );
  });

  test("that sends less than it is asked for is asked for the rest", async () => {
    server.files = large(5 * MIB);
    server.behaviour = { mostBytes: 3 * MIB };
    const weights = await weightsOf();
    expect(areSame(await bytesOf(weights, 0, 5 * MIB), pattern(5 * MIB))).toBe(true);
  });

  test("that sends less, and hides how much, is a NetworkError", async () => {
    server.files = large(5 * MIB);
    server.behaviour = { mostBytes: 3 * MIB, saysRange: false };
    const error = await errorOf(bytesOf(await weightsOf(), 0, 5 * MIB));
    expect(error).toMatchObject({ name: "NetworkError", code: "NETWORK" });
    expect(error.message).toMatch(
      /^openModel: http.*model.safetensors: the server has sent 3145728 of the 4194304 bytes from byte 0 on$/,
    );
  });

  test("whose file is empty gives an empty file", async () => {
    server.files = large(0);
    expect((await weightsOf()).size).toBe(0);
  });

  test("whose file changes while it is read is a NetworkError", async () => {
    server.files = large(5 * MIB);
    const weights = await weightsOf();
    server.behaviour = { version: "2" };
    const error = await errorOf(bytesOf(weights, MIB, 2 * MIB));
    expect(error.message).toContain("the file has changed since it was opened");
  });

  test("whose index names a file outside of the folder is not asked for it", async () => {
    server.files = {
      "config.json": textFile({}),
      "model.safetensors.index.json": textFile({ weight_map: { a: "../../other/secret" } }),
    };
    const error = await errorOf(open());
    expect(error.code).toBe("CORRUPT_DATA");
    expect(server.asked.some(({ file }) => file.includes("secret"))).toBe(false);
  });
});

describe("signal", () => {
  test("ends a request that hangs, with its reason", async () => {
    server.behaviour = { intercept: () => true }; // no answer ever
    const controller = new AbortController();
    const opening = errorOf(open({ signal: controller.signal }));
    while (server.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort(new Error("enough"));
    expect((await opening).message).toBe("enough");
  });

  test("ends reading and waiting later", async () => {
    server.files = large(5 * MIB);
    const controller = new AbortController();
    const weights = await weightsOf({ signal: controller.signal });
    server.behaviour = { intercept: (_, response) => Boolean(response.writeHead(503).end()) };
    const reading = errorOf(bytesOf(weights, MIB, 2 * MIB));
    while (blocksAsked().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    controller.abort(new Error("enough"));
    expect((await reading).message).toBe("enough");
    expect((await errorOf(open({ signal: AbortSignal.abort(new Error("before")) }))).message).toBe("before");
  });
});

describe("cache: { folder }", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "headwise-models-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const kept = () => readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("-"));

  test("keeps blocks for the next visit", async () => {
    server.files = large(9 * MIB);
    await (await weightsOf({ cache: { folder } })).arrayBuffer();
    expect(kept()).toHaveLength(3);
    server.asked.length = 0;
    const seen: OpenProgress[] = [];
    const weights = await weightsOf({ cache: { folder }, onProgress: (progress) => void seen.push(progress) });
    expect(areSame(await bytesOf(weights, 0, 9 * MIB), pattern(9 * MIB))).toBe(true);
    expect(blocksAsked()).toEqual([]);
    expect(seen.at(-1)).toEqual({ file: "model.safetensors", loadedBytes: 9 * MIB, totalBytes: 9 * MIB });
  });

  test("forgets blocks of an older version, and reads a damaged block again", async () => {
    server.files = large(5 * MIB);
    await (await weightsOf({ cache: { folder } })).arrayBuffer();
    server.behaviour = { version: "2" };
    await (await weightsOf({ cache: { folder } })).arrayBuffer();
    expect(kept()).toHaveLength(2);
    for (const name of kept()) truncateSync(path.join(folder, name), 10);
    expect(areSame(await bytesOf(await weightsOf({ cache: { folder } }), 0, MIB), pattern(MIB))).toBe(true);
  });
});

test("a cache.folder that cannot be made is an OptionError; one that cannot be written is of no help", async () => {
  server.files = large(5 * MIB);
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-models-"));
  const file = path.join(folder, "file");
  writeFileSync(file, "");
  const error = await errorOf(open({ cache: { folder: file } }));
  expect(error.message).toContain(`openModel: cache.folder ${JSON.stringify(file)} could not be made`);
  const weights = await weightsOf({ cache: { folder: path.join(folder, "blocks") } });
  rmSync(folder, { recursive: true });
  expect(areSame(await bytesOf(weights, 0, MIB), pattern(MIB))).toBe(true);
});

describe("in Node, a folder", () => {
  test.each([
    ["by its path", (folder: string) => folder],
    ["as a URL", (folder: string) => pathToFileURL(folder)],
  ])("is opened %s", async (_, form) => {
    const folder = mkdtempSync(path.join(tmpdir(), "headwise model "));
    for (const [name, bytes] of Object.entries(small("gpt2"))) writeFileSync(path.join(folder, name), bytes);
    expect(await logitsOf(await openModel(form(folder)))).toEqual(await logitsOf(small("gpt2")));
    rmSync(folder, { recursive: true });
  });

  test.each(["1_Pooling", "sentence/pooling"])(
    "may have the files of sentence-transformers, in %s",
    async (pooling) => {
      const folder = mkdtempSync(path.join(tmpdir(), "headwise model "));
      for (const [name, bytes] of Object.entries(sentenceFiles(pooling))) {
        mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
        writeFileSync(path.join(folder, name), bytes);
      }
      const model = await loadModel(hw, await openModel(folder));
      expect((await model.run([3, 1])).embedding!.shape).toEqual([16]);
      model.dispose();
      rmSync(folder, { recursive: true });
    },
  );

  test("gives files that are read as a Blob is, by many readers, and are closed again", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headwise model "));
    const bytes = pattern(2 * MIB);
    writeFileSync(path.join(folder, "config.json"), bytes);
    const { "config.json": file } = await openModel(folder);
    const ranges = [[0, 10], [MIB - 1, MIB + 1], [2 * MIB - 3, 3 * MIB], [5, 5], [3 * MIB, 4 * MIB], [9, 5], [-7, -2], [-3 * MIB, 4]] as const; // oxfmt-ignore
    const read = await Promise.all(ranges.map(([from, to]) => bytesOf(file!, from, to)));
    for (const [n, [from, to]] of ranges.entries()) expect(areSame(read[n]!, bytes.slice(from, to))).toBe(true);
    expect(areSame(new Uint8Array(await file!.arrayBuffer()), bytes)).toBe(true);
    if (existsSync("/proc/self/fd")) expect(openFiles().filter((name) => name.startsWith(folder))).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test("whose weights become shorter, or go, while they are read is an OptionError; the files can be read when they are back", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "headwise model "));
    const weights = path.join(folder, "model.safetensors");
    for (const [name, bytes] of Object.entries(small("gpt2"))) writeFileSync(path.join(folder, name), bytes);
    const files = await openModel(folder);
    const length = files["model.safetensors"]!.size;
    truncateSync(weights, length - 100);
    const error = await errorOf(loadModel(hw, files));
    expect(error.message).toContain(`openModel: ${JSON.stringify(weights)} has become shorter since it was opened`);
    expect(error).toMatchObject({ code: "CORRUPT_DATA" });
    rmSync(weights);
    const gone = await errorOf(loadModel(hw, files));
    expect(gone.message).toContain(`openModel: ${JSON.stringify(weights)} could not be read: ENOENT`);
    expect(OptionError.is(gone)).toBe(true);
    writeFileSync(weights, small("gpt2")["model.safetensors"]!);
    expect(await logitsOf(files)).toEqual(await logitsOf(small("gpt2")));
    rmSync(folder, { recursive: true });
  });

  test("that is not there is an OptionError", async () => {
    const error = await errorOf(openModel("no/such/folder"));
    expect(error.message).toContain('openModel: the folder "no/such/folder" could not be read: ENOENT');
    expect(OptionError.is(error)).toBe(true);
  });
});

describe("bad arguments", () => {
  test.each([
    ["no address", [undefined], "openModel: address must be a string or a URL, got undefined"],
    ["a number", [7], "openModel: address must be a string or a URL, got 7"],
    [
      "headers that are no strings",
      ["http://a/", { headers: { a: 1 } }],
      "openModel: headers must be an object of strings",
    ],
    [
      "headers in a list",
      ["http://a/", { headers: ["a"] }],
      'openModel: headers must be an object of strings, got ["a"]',
    ],
    [
      "a cache that is no place",
      ["http://a/", { cache: 7 }],
      "openModel: cache must be a name, { folder } or false, got 7",
    ],
    [
      "an address of another machine",
      ["file://other/models"],
      'openModel: address could not be read: File URL host must be "localhost" or empty on linux',
    ],
    ["an address of a file with half a code", ["file:///100%"], "openModel: address could not be read: URI malformed"],
    ["an unknown option", ["http://a/", { token: "a" }], 'openModel: unknown option "token"'],
  ])("of openModel: %s", async (_, args, message) => {
    expect((await errorOf(openModel(...(args as [string])))).message).toContain(message);
  });

  test.each([
    [["a/b/c"], 'hub: repository must be a name such as "owner/name", got "a/b/c"'],
    [[""], "hub: repository must be"],
    [["../x"], "hub: repository must be"],
    [["a/.."], "hub: repository must be"],
    [["a/b", { revision: "" }], "hub: revision must be"],
    [["a/b", { revision: ".." }], "hub: revision must be"],
    [["a/b", { host: "huggingface.co" }], "hub: host must be"],
  ])("of hub: %j", (args, message) => {
    expect(() => hub(...(args as [string]))).toThrow(message);
  });

  test("hub contacts nothing, and names a revision", () => {
    expect(hub("gpt2")).toBe("https://huggingface.co/gpt2/resolve/main/");
    expect(hub("a/b", { revision: "refs/pr/1", host: "https://mirror.example/" })).toBe(
      "https://mirror.example/a/b/resolve/refs%2Fpr%2F1/",
    );
  });

  test("an address in the place of files names openModel", async () => {
    const error = await errorOf(loadModel(hw, "openai-community/gpt2" as never));
    expect(error.hint).toContain("openModel(address)");
  });
});
