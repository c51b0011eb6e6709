// How headwise/models reads files: what it takes, what it refuses, and how much memory it needs.

import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import {
  createAttention,
  DisposedError,
  HeadwiseError,
  OptionError,
  ShapeError,
  UnsupportedError,
  type Attention,
} from "headwise";
import { createAttention as createInline } from "headwise/inline";
import { inspectModel, loadModel, type LoadModelOptions, type LoadProgress, type ModelFileList } from "headwise/models";
import { createAttention as createInWorker } from "headwise/worker";

import { safetensors } from "./safetensorsFile.js";
import {
  bytesAs,
  CONFIGS,
  filesOf,
  randomWeights,
  shapesOf,
  shardedFilesOf,
  textFile,
  type Config,
  type Files,
  type Kind,
} from "./smallModels.js";

let hw: Attention;
beforeAll(async () => {
  hw = await createAttention({ backend: "wasm", variant: "simd", threads: 1 });
});
afterAll(() => hw.dispose());

const TOKENS = [3, 17, 5, 28];
const weights = randomWeights(shapesOf("gpt2"));
const files = filesOf(CONFIGS.gpt2, weights);

const errorOf = async (given: ModelFileList, options: LoadModelOptions = {}) => {
  try {
    (await loadModel(hw, given, options)).dispose();
  } catch (error) {
    return error as HeadwiseError;
  }
  throw new Error("it was loaded");
};

/** A file of a folder that the user chose. */
const file = (path: string, bytes: Uint8Array<ArrayBuffer>) =>
  Object.assign(new Blob([bytes]), { name: path.split("/").at(-1)!, webkitRelativePath: path });

const logitsOf = async (given: ModelFileList) => {
  const model = await loadModel(hw, given);
  const { logits } = await model.run(TOKENS);
  model.dispose();
  return logits!.data;
};

describe("Files", () => {
  test("may be an object of arrays or Blobs, Files, or a FileList: the model is the same", async () => {
    const expected = await logitsOf(files);
    const blobs = Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, new Blob([bytes])]));
    const listed = Object.entries(files).map(([name, bytes]) => file(`gpt2/${name}`, bytes));
    const fileList = { ...listed, length: listed.length }; // a FileList of an old engine has no iterator
    for (const given of [blobs, listed, fileList, new Set(listed)]) expect(await logitsOf(given)).toEqual(expected);
  });

  test("of a folder: those nearest to the top are taken", async () => {
    const all = Object.entries(files);
    const nested = [
      file("model/onnx/config.json", textFile({ model_type: "other" })),
      ...all.map(([name, bytes]) => file(`model/${name}`, bytes)),
      file("model/onnx/deep/config.json", textFile({})),
    ];
    expect(await logitsOf(nested)).toEqual(await logitsOf(files));
  });

  test("may name their only file of weights as they like, or have an index of shards", async () => {
    const { "model.safetensors": whole, ...rest } = files;
    const expected = await logitsOf(files);
    expect(await logitsOf({ ...rest, "my.safetensors": whole! })).toEqual(expected);
    expect(await logitsOf(shardedFilesOf(CONFIGS.gpt2, weights, "F32", 3))).toEqual(expected);
  });

  test("may have an index that lists a tensor which its file lacks, if the model does not need it", async () => {
    const sharded = shardedFilesOf(CONFIGS.gpt2, weights, "F32", 2);
    const shard = "model-00001-of-00002.safetensors";
    const listed = (names: readonly string[]) => ({
      ...sharded,
      "model.safetensors.index.json": textFile({
        weight_map: {
          x: "model-00002-of-00002.safetensors",
          ...Object.fromEntries(names.map((name) => [name, shard])),
        },
      }),
    });
    const all = listed([...weights.keys(), "lm_head.weight"]); // GPT-2's head is its table of words
    expect(await logitsOf(all)).toEqual(await logitsOf(files));
    expect((await inspectModel(all)).unusedTensors).toEqual([]);
    const other = { ...all, [shard]: safetensors({}) };
    expect((await errorOf(other)).message).toMatch(/^loadModel: tensor "\S+" is missing in the files$/);
  });

  test("of one name are refused if that name is read", async () => {
    const all = Object.entries(files).map(([path, bytes]) => file(path, bytes));
    const error = await errorOf([...all, file("config.json", textFile(CONFIGS.bert))]);
    expect(error.message).toContain("loadModel: files must have config.json once, got 2 files of this name");
    expect(OptionError.is(error)).toBe(true);
    const notes = [file("README.md", new Uint8Array(1)), file("README.md", new Uint8Array(2))];
    expect(await logitsOf([...all, ...notes])).toEqual(await logitsOf(files));
  });

  test("that are missing are named", async () => {
    const { "config.json": config, "model.safetensors": whole } = files;
    const cases: readonly (readonly [object, string])[] = [
      [{}, "loadModel: files must have config.json, got no files"],
      [{ "model.safetensors": whole }, "loadModel: files must have config.json, got model.safetensors"],
      [
        { "config.json": config, "pytorch_model.bin": new Uint8Array(1) },
        "loadModel: files must have model.safetensors, model.safetensors.index.json, or one file that ends in " +
          ".safetensors, got config.json, pytorch_model.bin",
      ],
      [{ "config.json": new Uint8Array(3) }, "loadModel: config.json is no JSON object, or is damaged"],
      [{ "config.json": "{}" }, 'loadModel: files["config.json"] must be a Blob or a Uint8Array, got "{}"'],
      [[{}], "loadModel: files[0] must be a File with a name, got an empty object"],
      [new Uint8Array(3), "loadModel: files must be an array of File"],
    ];
    for (const [given, message] of cases) {
      const error = await errorOf(given as never);
      expect(error.message).toContain(message);
      expect(OptionError.is(error)).toBe(true);
    }
    const sharded = shardedFilesOf(CONFIGS.gpt2, weights, "F32", 3);
    delete sharded["model-00002-of-00003.safetensors"];
    expect((await errorOf(sharded)).message).toContain("files must have model-00002-of-00003.safetensors");
    const index = { ...sharded, "model.safetensors.index.json": textFile({ weight_map: { x: 3 } }) };
    expect(await errorOf(index)).toMatchObject({ code: "CORRUPT_DATA" });
  });
});

describe("A configuration that is not supported is refused by the name of its field", () => {
  const cases: readonly (readonly [Kind, Config, string])[] = [
    [
      "gpt2",
      { model_type: "t5" },
      'model_type must be "bert" or "gpt2" or "llama" or "mistral" or "qwen2" or "qwen3" or "phi3" or ',
    ],
    ["gpt2", { model_type: "t5" }, 'got "t5"'],
    ["gpt2", { model_type: undefined }, "model_type must be"],
    ["gpt2", { n_embd: 0 }, "n_embd must be an integer of 1 or more, got 0"],
    ["gpt2", { n_layer: undefined }, "n_layer must be an integer of 1 or more, got undefined"],
    ["gpt2", { n_head: 3 }, "the heads must divide the width"],
    ["gpt2", { activation_function: "mish" }, 'activation_function must be "gelu" or "gelu_new"'],
    ["gpt2", { add_cross_attention: true }, "add_cross_attention must be false, got true"],
    ["gpt2", { scale_attn_weights: "yes" }, 'scale_attn_weights must be true or false, got "yes"'],
    [
      "llama",
      { rope_scaling: { factor: 2 } },
      "rope_scaling.rope_type must be given, because factor is, got undefined",
    ],
    [
      "llama",
      { rope_scaling: { original_max_position_embeddings: 16, low_freq_factor: 1 } },
      "rope_scaling.rope_type must be given, because low_freq_factor is, got undefined",
    ],
    ["gpt2", { eos_token_id: "end" }, 'eos_token_id must be a token or a list of tokens, got "end"'],
    ["gpt2", { quantization_config: { bits: 4 } }, "quantization_config must be absent, got an object with bits"],
    [
      "bert",
      { position_embedding_type: "relative_key" },
      'position_embedding_type must be "absolute", got "relative_key"',
    ],
    ["bert", { is_decoder: true }, "is_decoder must be false, got true"],
    ["bert", { layer_norm_eps: -1 }, "layer_norm_eps must be a number above 0, got -1"],
    [
      "llama",
      { rope_scaling: { rope_type: "dynamic", factor: 2 } },
      'rope_scaling.rope_type must be "default" or "linear"',
    ],
    ["llama", { rope_scaling: { type: "linear" } }, "rope_scaling.factor must be a number above 0, got undefined"],
    ["llama", { rope_scaling: 3 }, "rope_scaling must be an object, got 3"],
    ["llama", { partial_rotary_factor: 0.5 }, "partial_rotary_factor must be 1, got 0.5"],
    ["llama", { num_key_value_heads: 3, head_dim: 4 }, "must have shape [12, 16]"],
    ["mistral", { sliding_window: -1 }, "sliding_window must be an integer of 1 or more, got -1"],
    ["qwen2", { layer_types: ["chunked_attention", "full_attention"] }, "layer_types must be 2 times"],
  ];

  test.each(cases)("%s with %j", async (kind, fields, message) => {
    const config = { ...CONFIGS[kind], ...fields };
    const error = await errorOf(filesOf(config, randomWeights(shapesOf(kind))));
    expect(error.message).toContain("loadModel: ");
    expect(error.message).toContain(message);
    expect(UnsupportedError.is(error) || ShapeError.is(error)).toBe(true);
  });
});

describe("Weights that are damaged or do not fit", () => {
  const entries = (change: (all: Record<string, unknown>) => void): Files => {
    const whole = files["model.safetensors"]!;
    const length = Number(new DataView(whole.buffer).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(whole.subarray(8, 8 + length))) as Record<string, unknown>;
    change(header);
    const text = textFile(header);
    const changed = new Uint8Array(8 + text.length + whole.length - 8 - length);
    new DataView(changed.buffer).setBigUint64(0, BigInt(text.length), true);
    changed.set(text, 8);
    changed.set(whole.subarray(8 + length), 8 + text.length);
    return { ...files, "model.safetensors": changed };
  };
  const bytes = (...values: bigint[]) => new Uint8Array(BigUint64Array.from(values).buffer);
  const FIRST = "transformer.wte.weight";
  const SECOND = "transformer.wpe.weight";

  test.each<readonly [string, Uint8Array<ArrayBuffer>, string]>([
    ["an empty file", new Uint8Array(0), "is no .safetensors file, or is damaged: it is shorter than 8 bytes"],
    ["a header longer than the file", bytes(2n ** 40n, 0n), "the header is longer than the file"],
    ["a header of 2⁶⁴ − 1 bytes", bytes(2n ** 64n - 1n), "the header is longer than the file"],
    ["a header that is no JSON", bytes(8n, 0n), "the header is no JSON object"],
  ])("%s", async (_, whole, message) => {
    const error = await errorOf({ ...files, "model.safetensors": whole });
    expect(error.message).toContain(`loadModel: model.safetensors`);
    expect(error.message).toContain(message);
    expect([OptionError.is(error), error.code]).toEqual([true, "CORRUPT_DATA"]);
  });

  test("a header above 100 MB, which is not read", async () => {
    const read: number[] = [];
    const size = 2 ** 31;
    const huge = {
      size,
      slice: (from: number, to: number) => {
        read.push(to - from);
        return new Blob([bytes(BigInt(2 ** 30))]);
      },
    };
    const error = await errorOf({ "config.json": files["config.json"]!, "model.safetensors": huge });
    expect(error.message).toContain("the header is longer than 100000000 bytes");
    expect(read).toEqual([8]);
  });

  test("a Blob that gives fewer bytes than it has, more than it is asked for, or none", async () => {
    const whole = files["model.safetensors"]!;
    const given = (part: (from: number, to: number) => Blob) =>
      errorOf({ ...files, "model.safetensors": { size: whole.length, slice: part } });
    const name = 'loadModel: files["model.safetensors"]';
    const [header, end] = [8 + new DataView(whole.buffer).getUint32(0, true), whole.length];
    const less = await given((from, to) => new Blob([whole.subarray(from, to === end ? to - 4 : to)]));
    expect(less.message).toMatch(
      /^loadModel: files\["model.safetensors"\] must give the (\d+) bytes from \d+ on, got \d+ bytes$/,
    );
    const more = await given((from, to) => new Blob([whole.subarray(from, to < header ? to : to + 4)]));
    expect(more.message).toContain(`${name} must give the ${header - 8} bytes from 8 on, got ${header - 4} bytes`);
    expect([OptionError.is(less), less.code, more.code]).toEqual([true, "CORRUPT_DATA", "CORRUPT_DATA"]);
    const cause = new DOMException("It was removed", "NotFoundError"); // what a browser says of such a File
    const gone = await given(() => Object.assign(new Blob(), { arrayBuffer: () => Promise.reject(cause) }));
    expect([gone.message, gone.cause]).toEqual([`${name} could not be read: NotFoundError: It was removed`, cause]);
    expect(OptionError.is(gone)).toBe(true);
  });

  test("notes of 16 MB in a header are no damage, whatever is in them", async () => {
    const note = '{"a":"\\n'.repeat(2 ** 21); // eight characters
    const noted = entries((all) => Object.assign(all, { __metadata__: { note } }));
    expect(await logitsOf(noted)).toEqual(await logitsOf(files));
  });

  test.each<readonly [string, (all: Record<string, never>) => void, string]>([
    [
      "overlap",
      (all) => Object.assign(all[SECOND]!, { shape: [1, 16], data_offsets: [0, 64] }),
      `tensors "${SECOND}" and "${FIRST}" share bytes`,
    ],
    [
      "lie outside of the file",
      (all) => Object.assign(all[FIRST]!, { data_offsets: [1e12, 1e12 + 29 * 64] }),
      `tensor "${FIRST}" has shape [29, 16]`,
    ],
    [
      "have fewer bytes than their shape",
      (all) => Object.assign(all[FIRST]!, { shape: [30, 16] }),
      `tensor "${FIRST}" has shape [30, 16]`,
    ],
    [
      "have a shape whose product overflows",
      (all) => Object.assign(all[FIRST]!, { shape: [2 ** 52, 2 ** 52] }),
      `tensor "${FIRST}"`,
    ],
    [
      "end before they begin",
      (all) => Object.assign(all[FIRST]!, { dtype: "X", data_offsets: [64, 0] }),
      `tensor "${FIRST}"`,
    ],
    ["have no dtype", (all) => Object.assign(all[FIRST]!, { dtype: 3 }), `tensor "${FIRST}" has no dtype`],
  ])("tensors that %s", async (_, change, message) => {
    const error = await errorOf(entries(change as never));
    expect(error.message).toContain(message);
    expect([OptionError.is(error), error.code]).toEqual([true, "CORRUPT_DATA"]);
  });

  test("a tensor that is missing, has another shape or another dtype is named", async () => {
    const name = "transformer.h.1.mlp.c_fc.weight";
    const missing = await errorOf(entries((all) => delete all[name]));
    expect(missing.message).toBe(`loadModel: tensor "${name}" is missing in the files`);
    expect([OptionError.is(missing), missing.code]).toEqual([true, "CORRUPT_DATA"]);
    const turned = await errorOf(entries((all) => Object.assign(all[name]!, { shape: [64, 16] })));
    expect(turned.message).toBe(
      `loadModel: tensor "${name}" must have shape [16, 64], as config.json says, got [64, 16]`,
    );
    expect(ShapeError.is(turned)).toBe(true);
    const integers = await errorOf(entries((all) => Object.assign(all[name]!, { dtype: "I32" })));
    expect(integers.message).toBe(`loadModel: tensor "${name}" must be stored as F32, F16, BF16, got I32`);
    expect(UnsupportedError.is(integers)).toBe(true);
  });

  test("numbers that int8 cannot hold are refused by the name of their tensor", async () => {
    const infinite = new Map(weights);
    infinite.set(FIRST, { shape: [29, 16], data: Float64Array.from({ length: 464 }, () => Infinity) });
    const error = await errorOf(filesOf(CONFIGS.gpt2, infinite), { precision: "int8" });
    expect(error.message).toContain(`loadModel: tensor "${FIRST}": weight must hold finite numbers, got Infinity`);
  });

  test("tensors that the model does not use may have any dtype", async () => {
    const all = [...weights].map(
      ([name, { shape, data }]) => [name, { dtype: "F32", shape, bytes: bytesAs("F32", data) }] as const,
    );
    const extra = { "transformer.h.0.attn.bias": { dtype: "BOOL", shape: [3], bytes: new Uint8Array(3) } };
    const whole = safetensors({ ...Object.fromEntries(all), ...extra });
    expect(await logitsOf({ ...files, "model.safetensors": whole })).toEqual(await logitsOf(files));
  });

  test("are refused before a weight is read", async () => {
    const read: number[] = [];
    const whole = entries((all) => delete all["transformer.ln_f.bias"])["model.safetensors"]!;
    const watched = {
      size: whole.length,
      slice: (from: number, to: number) => {
        read.push(to);
        return new Blob([whole]).slice(from, to);
      },
    };
    await errorOf({ ...files, "model.safetensors": watched });
    const header = 8 + Number(new DataView(whole.buffer).getBigUint64(0, true));
    expect(read).toEqual([8, header]);
  });
});

describe("Loading", () => {
  // 10 MB, most of it in one table: 1 MiB is the largest piece
  const config = {
    ...CONFIGS.llama,
    vocab_size: 40_000,
    hidden_size: 64,
    intermediate_size: 64,
    tie_word_embeddings: true,
  };
  const large = randomWeights(
    Object.fromEntries(
      Object.entries(shapesOf("llama", config)).map(([name, shape]) => [
        name,
        shape.map((extent) => ({ 29: 40_000, 16: 64, 24: 64, 8: 32 })[extent] ?? extent),
      ]),
    ),
  );
  const MB = 2 ** 20;

  test.each(["F32", "F16"] as const)(
    "from %s reads small pieces, and keeps 1.15 times the file at most",
    async (dtype) => {
      const whole = filesOf(config, large, dtype);
      const blob = new Blob([whole["model.safetensors"]!]);
      const pieces: number[] = [];
      const watched = {
        size: blob.size,
        slice: (from: number, to: number) => {
          pieces.push(to - from);
          return blob.slice(from, to);
        },
      };
      const model = await loadModel(hw, { ...whole, "model.safetensors": watched });
      expect(blob.size).toBeGreaterThan((dtype === "F32" ? 9 : 4.5) * MB);
      expect(Math.max(...pieces)).toBeLessThanOrEqual(MB);
      expect(model.bytes).toBeGreaterThan(0.95 * blob.size);
      expect(model.bytes).toBeLessThan(1.15 * blob.size);
      model.dispose();
      expect(model.bytes).toBe(0);
    },
  );

  test("reads four pieces at a time at most, and rejects with the error of the first that fails", async () => {
    const whole = filesOf(config, large);
    const blob = new Blob([whole["model.safetensors"]!]);
    const counts = { now: 0, most: 0, all: 0 };
    const given = (failsFrom: number) => ({
      ...whole,
      "model.safetensors": {
        size: blob.size,
        slice: (from: number, to: number) => ({
          arrayBuffer: async () => {
            counts.most = Math.max(counts.most, ++counts.now);
            const number = ++counts.all;
            const bytes = await blob.slice(from, to).arrayBuffer();
            counts.now--;
            if (number >= failsFrom) throw new Error(`read ${number} failed`);
            return bytes;
          },
        }),
      },
    });
    (await loadModel(hw, given(Infinity))).dispose();
    expect(counts.most).toBe(4);
    counts.all = 0;
    // the header takes two reads; the large table is read first
    await expect(loadModel(hw, given(5))).rejects.toThrow("read 5 failed");
  });

  test("reads ahead over the end of a tensor: while one is placed, the next three are on their way", async () => {
    const bytes = files["model.safetensors"]!;
    let asked = 0;
    const source = {
      size: bytes.length,
      slice: (from: number, to: number) => ({
        arrayBuffer: () => {
          asked++;
          return Promise.resolve(bytes.slice(from, to).buffer);
        },
      }),
    };
    const headers = 2; // reads of the file's beginning
    const askedAt: number[] = []; // when each tensor, of one piece, was placed
    const onProgress = () => void askedAt.push(asked - headers);
    (await loadModel(hw, { ...files, "model.safetensors": source }, { onProgress })).dispose();
    const { size } = weights;
    expect(askedAt).toEqual(Array.from({ length: size }, (_, n) => Math.min(n + 4, size)));
  });

  test("keeps BF16 in as many bytes as the file, or widens it to float32 on request", async () => {
    const whole = filesOf(config, large, "BF16");
    const bytesWith = async (precision: "as-stored" | "float32") => {
      const model = await loadModel(hw, whole, { precision });
      const { bytes } = model;
      model.dispose();
      return bytes / whole["model.safetensors"]!.length;
    };
    expect(await bytesWith("as-stored")).toBeCloseTo(1, 1);
    expect(await bytesWith("float32")).toBeCloseTo(2, 1);
  });

  test("tells how far it is", async () => {
    const calls: LoadProgress[] = [];
    const model = await loadModel(hw, filesOf(config, large), { onProgress: (progress) => calls.push(progress) });
    const total = [...large.values()].reduce((sum, { data }) => sum + 4 * data.length, 0);
    expect(new Set(calls.map(({ totalBytes }) => totalBytes))).toEqual(new Set([total]));
    expect(calls.at(-1)!.loadedBytes).toBe(total);
    expect(calls.every(({ loadedBytes }, n) => n === 0 || loadedBytes > calls[n - 1]!.loadedBytes)).toBe(true);
    expect(new Set(calls.map(({ tensor }) => tensor))).toEqual(new Set(large.keys()));
    expect(calls.filter(({ tensor }) => tensor === "model.embed_tokens.weight").length).toBeGreaterThan(1);
    model.dispose();
  });

  test("that is aborted ends with the reason, and gives back what it had", async () => {
    const small = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 48 * MB });
    const given = filesOf(config, large);
    for (let attempt = 0; attempt < 8; attempt++) {
      const controller = new AbortController();
      const onProgress = ({ loadedBytes }: LoadProgress) => {
        if (loadedBytes > 8 * MB) controller.abort(new Error("not now"));
      };
      await expect(loadModel(small, given, { signal: controller.signal, onProgress })).rejects.toThrow("not now");
    }
    const model = await loadModel(small, given); // eight times the weights would not have fitted
    expect((await model.run([1, 2])).logits!.shape).toEqual([2, 40_000]);
    small.dispose();
    await expect(loadModel(hw, files, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
  });

  test("of more than the memory holds is an OutOfMemoryError", async () => {
    const small = await createAttention({ backend: "wasm", threads: 1, maximumMemory: 20 * MB });
    const tied = { ...config, tie_word_embeddings: false };
    const untied = new Map([...large, ["lm_head.weight", large.get("model.embed_tokens.weight")!] as const]);
    await expect(loadModel(small, filesOf(tied, untied))).rejects.toMatchObject({ code: "OUT_OF_MEMORY" });
    small.dispose();
  });

  test("refuses options that it does not know", async () => {
    expect((await errorOf(files, { precison: "float16" } as never)).message).toContain(
      'loadModel: unknown option "precison"',
    );
    expect((await errorOf(files, { precison: "float16" } as never)).message).toContain('did you mean "precision"?');
    expect((await errorOf(files, { precision: "int4" as never })).message).toContain("loadModel: precision must be");
    for (const tokenizer of [null, false, 0, ""] as never[])
      expect((await errorOf(files, { tokenizer })).message).toContain("loadModel: tokenizer must be a class, or an");
  });
});

describe("An instance of", () => {
  test.each([
    ["headwise/worker", () => createInWorker({ variant: "simd", threads: 1 })],
    ["headwise/inline", () => createInline()],
    ['backend "auto"', () => createAttention({ variant: "simd", threads: 1 })],
  ])("%s computes the same bits, and generates", async (_, create) => {
    const other = await create();
    const model = await loadModel(other, files);
    const { logits } = await model.run(TOKENS);
    expect(logits!.data).toEqual(await logitsOf(files));
    const tokens = [];
    for await (const { token } of model.generate(TOKENS, { maxNewTokens: 3 })) tokens.push(token);
    expect(tokens).toHaveLength(3);
    model.dispose();
    other.dispose();
  });
});

describe("A file", () => {
  test("whose memory is detached or shrunk while it is read gives a typed error", async () => {
    const own = filesOf(CONFIGS.gpt2, weights);
    const loading = loadModel(hw, own);
    structuredClone(null, { transfer: [(own["model.safetensors"] as Uint8Array).buffer] });
    await expect(loading).rejects.toMatchObject({ name: "OptionError", code: "DETACHED_INPUT" });
  });
});

describe("A call", () => {
  test("with wrong tokens or options is refused before it computes", async () => {
    const model = await loadModel(hw, files);
    const rejections: readonly (readonly [unknown, object, string])[] = [
      [[1, 29], {}, "model.run: tokens[1] must be an integer from 0 to config.vocabSize − 1, which is 28, got 29"],
      [[1, 0.5], {}, "tokens[1] must be an integer from 0 to config.vocabSize − 1, which is 28, got 0.5"],
      [[-1], {}, "tokens[0] must be an integer"],
      [[[1], [2, "3"]], {}, 'tokens[1][1] must be an integer from 0 to config.vocabSize − 1, which is 28, got "3"'],
      [[[1], 2], {}, "tokens[1] must be a list of numbers, got 2"],
      [[1, [2]], {}, "tokens[1] must be an integer"],
      [{ data: Int32Array.of(1, 29), shape: [2] }, {}, "tokens.data[1] must be an integer"],
      [{ data: Int32Array.of(1), shape: [1, 1, 1] }, {}, "tokens.shape must be [S] or [B, S], got [1, 1, 1]"],
      [[], {}, "model.run: tokens must have at least one token in each text"],
      [[[1], []], {}, "at least one token in each text"],
      ["hello", {}, "model.run: tokens must be a list of numbers"],
      [{ data: Int32Array.of(1), shape: [2] }, {}, "tokens.shape must be integers whose product is data.length"],
      [Array.from({ length: 33 }, () => 1), {}, "tokens must be at most config.maxLength = 32 long, got 33"],
      [[1], { tokenTypes: [0] }, "tokenTypes must be absent for gpt2"],
      [[1, 2], { attentionMask: [1] }, "attentionMask must have the shape of tokens, [2], got [1]"],
      [
        [
          [1, 2],
          [3, 4],
        ],
        { attentionMask: [[1, 1], [1]] },
        "attentionMask must have the lengths of tokens, [2, 2], got [2, 1]",
      ],
      [
        [[1, 2], [3]],
        {
          attentionMask: [
            [1, 1],
            [1, 1],
          ],
        },
        "attentionMask must have the lengths of tokens, [2, 1], got [2, 2]",
      ],
      [[1, 2], { attentionMask: [1, 2] }, "attentionMask[1] must be an integer from 0 to 2 − 1"],
      [[[1, 2], [3]], { logits: "last" }, 'logits must not be "last" for texts that are filled up'],
      [[1], { logits: "first" }, 'logits must be true, false or "last", got "first"'],
      [[1], { hiddenStates: "last" }, 'hiddenStates must be true or false, got "last"'],
      [[1], { return: {} }, 'unknown option "return"'],
      [[1], { layers: [2] }, "layers[0] must be below the 2 layers, got 2"],
      [[1], { layers: [1] }, "layers must be absent without returns, which says what they give, got [1]"],
      [
        [1],
        { layers: ["h.0"] },
        'layers[0] must name layers of model.names, such as "transformer.h.0.attn", got "h.0"',
      ],
      [[1], { headGain: { "transformer.h.0.atn": [1, 1, 1, 1] } }, "headGain must name layers"],
      [
        [1],
        { headGain: { "transformer.h.0.attn": [1] } },
        'model.run: headGain["transformer.h.0.attn"] must have length 4, got 1',
      ],
      [[1], { patch: { x: {} } }, "patch must name layers"],
      [[1], { returns: { prob: true } }, 'model.run: unknown option "prob" in returns'],
    ];
    for (const [tokens, options, message] of rejections) {
      const error = await model.run(tokens as never, options).catch((reason: unknown) => reason as HeadwiseError);
      expect((error as Error).message).toContain(message);
      expect(HeadwiseError.is(error)).toBe(true);
    }
    const refusals: readonly (readonly [unknown, object, string])[] = [
      [[[1], [2]], {}, "model.generate: tokens must be one text, got 2"],
      [[1], { temperature: -1 }, "temperature must be a number of 0 or more, got -1"],
      [
        [1],
        { headGain: { "transformer.h.0.attn": [1, 1, 1, Number.NaN] } },
        'model.generate: headGain["transformer.h.0.attn"][3] must be finite, got NaN',
      ],
      [[1], { topK: 0 }, "topK must be an integer of 1 or more, got 0"],
      [[1], { topP: 1.5 }, "topP must be a number above 0 and at most 1, got 1.5"],
      [[1], { seed: -1 }, "seed must be"],
      [[1], { maxNewTokens: 0.5 }, "maxNewTokens must be"],
      [[1], { stopTokens: 3 }, "stopTokens must be an array"],
      [[1], { stopTokens: [0.5] }, "stopTokens[0] must be an integer from 0 to config.vocabSize − 1"],
    ];
    for (const [tokens, options, message] of refusals)
      expect(() => model.generate(tokens as never, options)).toThrow(message);
    model.dispose();
  });

  test.each([
    ["stop", 'did you mean "stopTokens"? It takes numbers of tokens.'],
    ["stop_strings", 'did you mean "stopTokens"? It takes numbers of tokens.'],
    ["eos_token_id", 'did you mean "stopTokens"? It is an array.'],
    ["max_tokens", 'did you mean "maxNewTokens"?'],
    ["do_sample", 'did you mean "temperature"? At 0, the default, the likeliest token is taken.'],
    ["repetition_penalty", "a token is chosen by temperature, topK and topP: leave it out"],
    ["minP", "a token is chosen by temperature, topK and topP: leave it out"],
    ["output_attentions", 'did you mean "returns"?'],
  ])("generate refuses %s of other packages with what it has instead", async (name, what) => {
    const model = await loadModel(hw, files);
    expect(() => model.generate([1], { [name]: 1 })).toThrow(`model.generate: unknown option "${name}"; ${what}`);
    model.dispose();
  });

  test("with a list of two billion entries is refused before it is read", async () => {
    const model = await loadModel(hw, files);
    const endless = new Array<number>(2 ** 31);
    const message = /must be at most config\.maxLength = 32 long, got 2147483648$/;
    for (const tokens of [endless, [[1], endless], [endless, [1]]])
      await expect(model.run(tokens as number[])).rejects.toThrow(message);
    await expect(model.run([1], { attentionMask: endless })).rejects.toThrow("attentionMask must be at most");
    expect(() => model.generate([1], { stopTokens: endless })).toThrow("stopTokens must be at most");
    model.dispose();
  });

  test("reads lists once, and typed arrays as they are, whatever their properties say", async () => {
    const model = await loadModel(hw, files);
    const plain = await model.run([3, 17, 5]);
    const changing = [3, 17, 5];
    let reads = 0;
    Object.defineProperty(changing, 1, { get: () => (reads++ === 0 ? 17 : 1000) });
    const lying = Object.defineProperties(Int32Array.of(3, 17, 5), {
      length: { value: 0 },
      slice: { value: () => Int32Array.of(28) },
    });
    for (const tokens of [changing, lying, { data: lying, shape: [3] }])
      expect((await model.run(tokens)).logits).toEqual(plain.logits);
    model.dispose();
  });

  test("to a model that was disposed is refused; disposing twice is harmless", async () => {
    const model = await loadModel(hw, files);
    model.dispose();
    model.dispose();
    await expect(model.run([1])).rejects.toMatchObject({ code: "DISPOSED" });
    expect(() => model.generate([1])).toThrow("model.generate: the model was disposed");
    const other = await loadModel(hw, files);
    other[Symbol.dispose]();
    expect(DisposedError.is(await other.run([1]).catch((error: unknown) => error))).toBe(true);
  });

  test("of generate gives its caches back, however it ends", async () => {
    const prototype = Object.getPrototypeOf(await hw.kvCache({ numKvHeads: 1, headDim: 1 })) as { dispose(): void };
    const disposed = jest.spyOn(prototype, "dispose");
    const model = await loadModel(hw, files);
    for await (const { token } of model.generate(TOKENS)) if (token >= 0) break;
    expect(disposed).toHaveBeenCalledTimes(2); // one for each layer
    const controller = new AbortController();
    const aborted = async () => {
      for await (const { token } of model.generate(TOKENS, { signal: controller.signal, stopTokens: [] }))
        if (token >= 0) controller.abort(new Error("enough"));
    };
    await expect(aborted()).rejects.toThrow("enough");
    expect(disposed).toHaveBeenCalledTimes(4);
    disposed.mockRestore();
    model.dispose();
  });
});
