// BERT, GPT-2 and Llama-shaped models in double precision, from their formulas, with plain arrays. It shares no code with
// the package.

export type Row = readonly number[];
export type Rows = readonly Row[];

export interface Weight {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number>;
}

/** Weights by the names of a file. */
export type Weights = ReadonlyMap<string, Weight>;

/**
 * What becomes of a sum of `terms` products whose sizes add up to `size`. `exact` leaves it. `noisy` moves it as rounding to
 * float32 may.
 */
export type Rounding = (sum: number, size: number, terms: number) => number;

export const exact: Rounding = (sum) => sum;

const UNIT = 2 ** -24;

/**
 * Moves each sum at random, by at most √terms units of its size: what independent roundings of its terms add up to. How far
 * the results of two such calculations lie apart shows what float32 may cost the whole model.
 */
export function noisy(seed: number): Rounding {
  let state = seed;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  return (sum, size, terms) => sum + (2 * next() - 1) * UNIT * Math.sqrt(terms) * size;
}

const { abs, sqrt, exp, tanh, PI } = Math;

const dot = (a: Row, b: Row, round: Rounding) => {
  let [sum, size] = [0, 0];
  a.forEach((value, n) => {
    sum += value * b[n]!;
    size += abs(value * b[n]!);
  });
  return round(sum, size, a.length);
};

export const mapped = (x: Rows, f: (value: number) => number): Rows => x.map((row) => row.map(f));
export const added = (a: Rows, b: Rows): Rows => a.map((row, n) => row.map((value, m) => value + b[n]![m]!));

/** Φ by Simpson's rule on its density: 2,000 intervals from −12. */
function normalDistribution(x: number): number {
  const [from, intervals] = [-12, 2000];
  const h = (x - from) / intervals;
  let sum = 0;
  for (let n = 0; n <= intervals; n++) {
    const weight = n === 0 || n === intervals ? 1 : n % 2 ? 4 : 2;
    sum += weight * exp(-((from + n * h) ** 2) / 2);
  }
  return (sum * h) / 3 / sqrt(2 * PI);
}

export const ACTIVATIONS: Readonly<Record<string, (x: number) => number>> = {
  gelu: (x) => x * normalDistribution(x),
  gelu_new: (x) => 0.5 * x * (1 + tanh(sqrt(2 / PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + exp(-x)),
  relu: (x) => (x > 0 ? x : 0),
};

export interface AttentionForm {
  readonly heads: number;
  readonly kvHeads: number;
  readonly scale: number;
  /** Whether query i may see key j. */
  readonly sees: (i: number, j: number) => boolean;
  /** Limits scores to ± this. */
  readonly softcap?: number | undefined;
  /** What is added to the score of query i and key j in a head. */
  readonly bias?: ((head: number, i: number, j: number) => number) | undefined;
}

/** What a reference model gives. */
export interface Computed {
  readonly hidden: Rows;
  readonly logits: Rows;
  readonly pooled?: Row;
  /** For each layer, head and query the probabilities of the keys. */
  readonly probs: readonly (readonly Rows[])[];
}

/** A calculation with weights of a file. */
export class Calculation {
  readonly probs: Rows[][] = [];
  readonly #weights: Weights;
  readonly #round: Rounding;

  constructor(weights: Weights, round: Rounding) {
    this.#weights = weights;
    this.#round = round;
  }

  vector(name: string): Row {
    return Array.from(this.#weights.get(name)!.data);
  }

  matrix(name: string): Rows {
    const { shape, data } = this.#weights.get(name)!;
    const [rows, width] = shape as [number, number];
    return Array.from({ length: rows }, (_, n) => Array.from(data).slice(n * width, (n + 1) * width));
  }

  /** x·Wᵀ + b, with W [out, in] as PyTorch stores it. */
  linear(x: Rows, weight: Rows, bias?: Row): Rows {
    return x.map((row) => weight.map((column, n) => dot(row, column, this.#round) + (bias?.[n] ?? 0)));
  }

  /** x·W + b, with W [in, out] as GPT-2 stores it. */
  conv1d(x: Rows, name: string): Rows {
    const weight = this.matrix(`${name}.weight`);
    return this.linear(x, transposed(weight), this.vector(`${name}.bias`));
  }

  dense(x: Rows, name: string, hasBias = true): Rows {
    return this.linear(x, this.matrix(`${name}.weight`), hasBias ? this.vector(`${name}.bias`) : undefined);
  }

  layerNorm(x: Rows, gain: Row, bias: Row, epsilon: number): Rows {
    return x.map((row) => {
      const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
      const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length;
      return row.map((value, n) =>
        this.#round(((value - mean) / sqrt(variance + epsilon)) * gain[n]! + bias[n]!, abs(value) + abs(mean), 1),
      );
    });
  }

  rmsNorm(x: Rows, gain: Row, epsilon: number): Rows {
    return x.map((row) => {
      const root = sqrt(row.reduce((sum, value) => sum + value * value, 0) / row.length + epsilon);
      return row.map((value, n) => this.#round((value / root) * gain[n]!, abs((value / root) * gain[n]!), 2));
    });
  }

  /** Attention of heads that lie side by side in the columns. */
  attention(q: Rows, k: Rows, v: Rows, form: AttentionForm): Rows {
    const { heads, kvHeads, scale, sees, softcap, bias } = form;
    const capped = (score: number) => (softcap === undefined ? score : softcap * tanh(score / softcap));
    const width = q[0]!.length / heads;
    const probs = Array.from({ length: heads }, (_, h) => {
      const g = Math.floor(h / (heads / kvHeads));
      return q.map((row, i) => {
        const scores = k.map((key, j) =>
          sees(i, j)
            ? capped(scale * dot(headOf(row, h, width), headOf(key, g, width), this.#round)) + (bias?.(h, i, j) ?? 0)
            : -Infinity,
        );
        const largest = Math.max(...scores);
        const weights = scores.map((score) => exp(score - largest));
        const sum = weights.reduce((total, weight) => total + weight, 0);
        return weights.map((weight) => this.#round(weight / sum, weight / sum, scores.length));
      });
    });
    this.probs.push(probs);
    return q.map((_, i) =>
      probs.flatMap((rows, h) => {
        const g = Math.floor(h / (heads / kvHeads));
        return Array.from({ length: width }, (__, d) =>
          dot(
            rows[i]!,
            v.map((value) => value[g * width + d]!),
            this.#round,
          ),
        );
      }),
    );
  }
}

export const headOf = (row: Row, head: number, width: number) => row.slice(head * width, (head + 1) * width);
const transposed = (matrix: Rows): Rows => matrix[0]!.map((_, column) => matrix.map((row) => row[column]!));

/** The angle by which pair m turns at a position. */
type Angle = (pair: number, position: number) => number;

/** Turns the pairs (m, m + width/2) of every head by their angles; `size` multiplies the result. */
function turned(x: Rows, heads: number, angle: Angle, size = 1): Rows {
  const width = x[0]!.length / heads;
  return x.map((row, position) =>
    row.map((value, n) => {
      const [head, d] = [Math.floor(n / width), n % width];
      const pair = d % (width / 2);
      const other = row[head * width + ((d + width / 2) % width)]!;
      const a = angle(pair, position);
      return size * (value * Math.cos(a) + (d < width / 2 ? -1 : 1) * other * Math.sin(a));
    }),
  );
}

type Config = Readonly<Record<string, unknown>>;

const numbersOf = (config: Config) => (name: string) => config[name] as number;

/** @param sees - Which keys padding leaves. */
export function bert(
  config: Config,
  weights: Weights,
  tokens: Row,
  {
    types = tokens.map(() => 0),
    sees = () => true,
    round = exact,
  }: {
    types?: Row;
    sees?: (j: number) => boolean;
    round?: Rounding;
  } = {},
): Computed {
  const number = numbersOf(config);
  const c = new Calculation(weights, round);
  const heads = number("num_attention_heads");
  const epsilon = number("layer_norm_eps");
  const activation = ACTIVATIONS[config["hidden_act"] as string]!;
  const norm = (x: Rows, name: string) => c.layerNorm(x, c.vector(`${name}.weight`), c.vector(`${name}.bias`), epsilon);
  const table = (name: string) => c.matrix(`bert.embeddings.${name}_embeddings.weight`);
  const [words, places, kinds] = [table("word"), table("position"), table("token_type")];
  const embedded = tokens.map((token, i) => words[token]!.map((w, n) => w + places[i]![n]! + kinds[types[i]!]![n]!));
  let x = norm(embedded, "bert.embeddings.LayerNorm");
  for (let layer = 0; layer < number("num_hidden_layers"); layer++) {
    const at = `bert.encoder.layer.${layer}`;
    const project = (name: string) => c.dense(x, `${at}.attention.self.${name}`);
    const [q, k, v] = [project("query"), project("key"), project("value")];
    const scale = 1 / sqrt(number("hidden_size") / heads);
    const heard = c.attention(q, k, v, { heads, kvHeads: heads, scale, sees: (_, j) => sees(j) });
    x = norm(added(x, c.dense(heard, `${at}.attention.output.dense`)), `${at}.attention.output.LayerNorm`);
    const inner = mapped(c.dense(x, `${at}.intermediate.dense`), activation);
    x = norm(added(x, c.dense(inner, `${at}.output.dense`)), `${at}.output.LayerNorm`);
  }
  const head = norm(
    mapped(c.dense(x, "cls.predictions.transform.dense"), activation),
    "cls.predictions.transform.LayerNorm",
  );
  return {
    hidden: x,
    logits: c.linear(head, words, c.vector("cls.predictions.bias")),
    pooled: c.dense([x[0]!], "bert.pooler.dense")[0]!.map(tanh),
    probs: c.probs,
  };
}

export function gpt2(config: Config, weights: Weights, tokens: Row, round = exact): Computed {
  const number = numbersOf(config);
  const c = new Calculation(weights, round);
  const heads = number("n_head");
  const epsilon = number("layer_norm_epsilon");
  const width = number("n_embd");
  const activation = ACTIVATIONS[config["activation_function"] as string]!;
  const norm = (x: Rows, name: string) => c.layerNorm(x, c.vector(`${name}.weight`), c.vector(`${name}.bias`), epsilon);
  const [words, places] = [c.matrix("transformer.wte.weight"), c.matrix("transformer.wpe.weight")];
  let x: Rows = tokens.map((token, i) => words[token]!.map((w, n) => w + places[i]![n]!));
  for (let layer = 0; layer < number("n_layer"); layer++) {
    const at = `transformer.h.${layer}`;
    const packed = c.conv1d(norm(x, `${at}.ln_1`), `${at}.attn.c_attn`);
    const part = (index: number) => packed.map((row) => headOf(row, index, width));
    const [q, k, v] = [part(0), part(1), part(2)];
    const byLayer = config["scale_attn_by_inverse_layer_idx"] ? layer + 1 : 1;
    const scale = (config["scale_attn_weights"] === false ? 1 : 1 / sqrt(width / heads)) / byLayer;
    const heard = c.attention(q, k, v, { heads, kvHeads: heads, scale, sees: (i, j) => j <= i });
    x = added(x, c.conv1d(heard, `${at}.attn.c_proj`));
    const inner = mapped(c.conv1d(norm(x, `${at}.ln_2`), `${at}.mlp.c_fc`), activation);
    x = added(x, c.conv1d(inner, `${at}.mlp.c_proj`));
  }
  const hidden = norm(x, "transformer.ln_f");
  return { hidden, logits: c.linear(hidden, words), probs: c.probs };
}

/** Differences between models of Llama's shape. */
export interface LlamaForm {
  readonly inputBias?: boolean;
  readonly outputBias?: boolean;
  readonly headNorm?: boolean;
  /** The tokens that a layer sees, its own included. */
  readonly window?: (layer: number) => number;
  /** The angle of a pair, for a width of a head. Default: position · theta^(−2·pair/width). */
  readonly angle?: (width: number) => Angle;
  /** A factor on turned queries and keys. */
  readonly size?: number;
}

export function llama(config: Config, form: LlamaForm, weights: Weights, tokens: Row, round = exact): Computed {
  const number = numbersOf(config);
  const c = new Calculation(weights, round);
  const [heads, kvHeads] = [number("num_attention_heads"), number("num_key_value_heads")];
  const width = (config["head_dim"] as number | undefined) ?? number("hidden_size") / heads;
  const epsilon = number("rms_norm_eps");
  const usual = (pair: number, position: number) => position * number("rope_theta") ** ((-2 * pair) / width);
  const angle = form.angle?.(width) ?? usual;
  const norm = (x: Rows, name: string) => c.rmsNorm(x, c.vector(`${name}.weight`), epsilon);
  /** The norm of every head. */
  const headNorm = (x: Rows, name: string, count: number): Rows =>
    form.headNorm
      ? x.map((row) => Array.from({ length: count }, (_, h) => norm([headOf(row, h, width)], name)[0]!).flat())
      : x;
  const words = c.matrix("model.embed_tokens.weight");
  let x: Rows = tokens.map((token) => words[token]!);
  for (let layer = 0; layer < number("num_hidden_layers"); layer++) {
    const at = `model.layers.${layer}`;
    const self = `${at}.self_attn`;
    const input = norm(x, `${at}.input_layernorm`);
    const project = (name: string) => c.dense(input, `${self}.${name}`, form.inputBias ?? false);
    const q = turned(headNorm(project("q_proj"), `${self}.q_norm`, heads), heads, angle, form.size);
    const k = turned(headNorm(project("k_proj"), `${self}.k_norm`, kvHeads), kvHeads, angle, form.size);
    const window = form.window?.(layer) ?? Infinity;
    const heard = c.attention(q, k, project("v_proj"), {
      heads,
      kvHeads,
      scale: 1 / sqrt(width),
      sees: (i, j) => j <= i && i - j < window,
    });
    x = added(x, c.dense(heard, `${self}.o_proj`, form.outputBias ?? false));
    const inner = norm(x, `${at}.post_attention_layernorm`);
    const gate = mapped(c.dense(inner, `${at}.mlp.gate_proj`, false), ACTIVATIONS["silu"]!);
    const up = c.dense(inner, `${at}.mlp.up_proj`, false);
    const gated = gate.map((row, n) => row.map((value, m) => value * up[n]![m]!));
    x = added(x, c.dense(gated, `${at}.mlp.down_proj`, false));
  }
  const hidden = norm(x, "model.norm");
  const head = config["tie_word_embeddings"] ? words : c.matrix("lm_head.weight");
  return { hidden, logits: c.linear(hidden, head), probs: c.probs };
}
