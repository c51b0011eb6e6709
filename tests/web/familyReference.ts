// More families of models in double precision, each from its published formulas, with plain arrays. It shares no code with the
// package.

import {
  ACTIVATIONS,
  added,
  Calculation,
  exact,
  headOf,
  mapped,
  type Computed,
  type Row,
  type Rows,
  type Weights,
} from "./modelReference.js";

export type Config = Readonly<Record<string, unknown>>;

/** What a reference gives: for classifiers and embeddings also rows of texts. */
export interface FamilyResult extends Computed {
  readonly labels?: Rows;
}

/** How a reference is asked. */
export interface Asked {
  readonly config: Config;
  readonly weights: Weights;
  readonly tokens: Row;
  /** Which keys padding leaves. */
  readonly sees?: (j: number) => boolean;
  readonly round?: typeof exact;
}

const { sqrt, tanh, log, floor, abs, min } = Math;

const gelu = ACTIVATIONS["gelu"]!;
const geluTanh = ACTIVATIONS["gelu_new"]!;
const relu = ACTIVATIONS["relu"]!;

/** What all of these references begin with. */
function begun({ config, weights, round = exact }: Asked, epsilon: number) {
  const c = new Calculation(weights, round);
  return {
    c,
    number: (name: string) => config[name] as number,
    norm: (x: Rows, name: string) => c.layerNorm(x, c.vector(`${name}.weight`), c.vector(`${name}.bias`), epsilon),
    /** Layer norm without a bias. */
    bareNorm: (x: Rows, name: string) => {
      const gain = c.vector(`${name}.weight`);
      return c.layerNorm(
        x,
        gain,
        gain.map(() => 0),
        epsilon,
      );
    },
    has: (name: string) => weights.has(name),
  };
}

/** Position of each token in RoBERTa: padding has position 1, the others count from 2. */
function robertaPlaces(tokens: Row): Row {
  let last = 1;
  return tokens.map((token) => (token === 1 ? 1 : ++last));
}

/** RoBERTa, XLM-RoBERTa. */
export function roberta(asked: Asked): FamilyResult {
  const { c, number, norm, has } = begun(asked, asked.config["layer_norm_eps"] as number);
  const { tokens, sees = () => true } = asked;
  const table = (name: string) => c.matrix(`roberta.embeddings.${name}_embeddings.weight`);
  const [words, places, kinds] = [table("word"), table("position"), table("token_type")];
  const rows = robertaPlaces(tokens);
  let x = norm(
    tokens.map((token, i) => words[token]!.map((w, n) => w + places[rows[i]!]![n]! + kinds[0]![n]!)),
    "roberta.embeddings.LayerNorm",
  );
  const heads = number("num_attention_heads");
  const scale = 1 / sqrt(number("hidden_size") / heads);
  for (let layer = 0; layer < number("num_hidden_layers"); layer++) {
    const at = `roberta.encoder.layer.${layer}`;
    const project = (name: string) => c.dense(x, `${at}.attention.self.${name}`);
    const [q, k, v] = [project("query"), project("key"), project("value")];
    const heard = c.attention(q, k, v, { heads, kvHeads: heads, scale, sees: (_, j) => sees(j) });
    x = norm(added(x, c.dense(heard, `${at}.attention.output.dense`)), `${at}.attention.output.LayerNorm`);
    const inner = mapped(c.dense(x, `${at}.intermediate.dense`), gelu);
    x = norm(added(x, c.dense(inner, `${at}.output.dense`)), `${at}.output.LayerNorm`);
  }
  const scored = () => norm(mapped(c.dense(x, "lm_head.dense"), gelu), "lm_head.layer_norm");
  const labels = () => c.dense(mapped(c.dense([x[0]!], "classifier.dense"), tanh), "classifier.out_proj");
  return {
    hidden: x,
    logits: has("lm_head.bias") ? c.linear(scored(), words, c.vector("lm_head.bias")) : [],
    ...(has("classifier.dense.weight") && { labels: labels() }),
    probs: c.probs,
  };
}

export function distilbert(asked: Asked): FamilyResult {
  const { c, number, norm, has } = begun(asked, 1e-12);
  const { tokens, sees = () => true } = asked;
  const [words, places] = ["word", "position"].map((name) =>
    c.matrix(`distilbert.embeddings.${name}_embeddings.weight`),
  ) as [Rows, Rows];
  let x = norm(
    tokens.map((token, i) => words[token]!.map((w, n) => w + places[i]![n]!)),
    "distilbert.embeddings.LayerNorm",
  );
  const heads = number("n_heads");
  const scale = 1 / sqrt(number("dim") / heads);
  for (let layer = 0; layer < number("n_layers"); layer++) {
    const at = `distilbert.transformer.layer.${layer}`;
    const project = (name: string) => c.dense(x, `${at}.attention.${name}_lin`);
    const [q, k, v] = [project("q"), project("k"), project("v")];
    const heard = c.attention(q, k, v, { heads, kvHeads: heads, scale, sees: (_, j) => sees(j) });
    x = norm(added(c.dense(heard, `${at}.attention.out_lin`), x), `${at}.sa_layer_norm`);
    const inner = mapped(c.dense(x, `${at}.ffn.lin1`), gelu);
    x = norm(added(c.dense(inner, `${at}.ffn.lin2`), x), `${at}.output_layer_norm`);
  }
  const scored = () => norm(mapped(c.dense(x, "vocab_transform"), gelu), "vocab_layer_norm");
  const labels = () => c.dense(mapped(c.dense([x[0]!], "pre_classifier"), relu), "classifier");
  return {
    hidden: x,
    logits: has("vocab_projector.bias") ? c.linear(scored(), words, c.vector("vocab_projector.bias")) : [],
    ...(has("pre_classifier.weight") && { labels: labels() }),
    probs: c.probs,
  };
}

/** The bucket of a distance from query i to key j, as T5 has them in both directions: always one of 32. */
function bucket(i: number, j: number): number {
  const half = 16;
  const distance = abs(i - j);
  const near = half / 2;
  const far = near + floor((log(distance / near) / log(128 / near)) * (half - near));
  return (j > i ? half : 0) + (distance < near ? distance : min(far, half - 1));
}

export function mpnet(asked: Asked): FamilyResult {
  const { c, number, norm } = begun(asked, asked.config["layer_norm_eps"] as number);
  const { tokens, sees = () => true } = asked;
  const [words, places] = ["word", "position"].map((name) =>
    c.matrix(`mpnet.embeddings.${name}_embeddings.weight`),
  ) as [Rows, Rows];
  const biases = c.matrix("mpnet.encoder.relative_attention_bias.weight");
  const rows = robertaPlaces(tokens);
  let x = norm(
    tokens.map((token, i) => words[token]!.map((w, n) => w + places[rows[i]!]![n]!)),
    "mpnet.embeddings.LayerNorm",
  );
  const heads = number("num_attention_heads");
  const scale = 1 / sqrt(number("hidden_size") / heads);
  const bias = (head: number, i: number, j: number) => biases[bucket(i, j)]![head]!;
  for (let layer = 0; layer < number("num_hidden_layers"); layer++) {
    const at = `mpnet.encoder.layer.${layer}`;
    const project = (name: string) => c.dense(x, `${at}.attention.attn.${name}`);
    const [q, k, v] = [project("q"), project("k"), project("v")];
    const heard = c.attention(q, k, v, { heads, kvHeads: heads, scale, sees: (_, j) => sees(j), bias });
    x = norm(added(x, c.dense(heard, `${at}.attention.attn.o`)), `${at}.attention.LayerNorm`);
    const inner = mapped(c.dense(x, `${at}.intermediate.dense`), gelu);
    x = norm(added(x, c.dense(inner, `${at}.output.dense`)), `${at}.output.LayerNorm`);
  }
  const scored = norm(mapped(c.dense(x, "lm_head.dense"), gelu), "lm_head.layer_norm");
  return { hidden: x, logits: c.linear(scored, words, c.vector("lm_head.bias")), probs: c.probs };
}

/** Turns the first `part` features of every head: pairs (m, m + part/2) by position · base^(−2m/part). */
function turned(x: Rows, heads: number, part: number, base: number): Rows {
  const width = x[0]!.length / heads;
  return x.map((row, position) =>
    row.map((value, n) => {
      const d = n % width;
      if (d >= part) return value;
      const pair = d % (part / 2);
      const angle = position * base ** ((-2 * pair) / part);
      const other = row[n + (d < part / 2 ? part / 2 : -part / 2)]!;
      return value * Math.cos(angle) + (d < part / 2 ? -1 : 1) * other * Math.sin(angle);
    }),
  );
}

export function gptNeoX(asked: Asked): FamilyResult {
  const { c, number, norm } = begun(asked, asked.config["layer_norm_eps"] as number);
  const { tokens, config } = asked;
  const heads = number("num_attention_heads");
  const width = number("hidden_size") / heads;
  const part = floor(width * number("rotary_pct"));
  const words = c.matrix("gpt_neox.embed_in.weight");
  let x: Rows = tokens.map((token) => words[token]!);
  for (let layer = 0; layer < number("num_hidden_layers"); layer++) {
    const at = `gpt_neox.layers.${layer}`;
    const packed = c.dense(norm(x, `${at}.input_layernorm`), `${at}.attention.query_key_value`);
    // each head has its query, its key and its value side by side
    const role = (n: number) =>
      packed.map((row) =>
        Array.from({ length: heads }, (_, head) => headOf(headOf(row, head, 3 * width), n, width)).flat(),
      );
    const turn = (y: Rows) => turned(y, heads, part, number("rotary_emb_base"));
    const form = { heads, kvHeads: heads, scale: 1 / sqrt(width), sees: (i: number, j: number) => j <= i };
    const heard = c.dense(c.attention(turn(role(0)), turn(role(1)), role(2), form), `${at}.attention.dense`);
    const base = config["use_parallel_residual"] ? x : added(x, heard);
    const inner = mapped(c.dense(norm(base, `${at}.post_attention_layernorm`), `${at}.mlp.dense_h_to_4h`), gelu);
    x = added(added(c.dense(inner, `${at}.mlp.dense_4h_to_h`), heard), x);
  }
  const hidden = norm(x, "gpt_neox.final_layer_norm");
  return { hidden, logits: c.dense(hidden, "embed_out", false), probs: c.probs };
}

export function gptNeo(asked: Asked): FamilyResult {
  const { c, number, norm } = begun(asked, asked.config["layer_norm_epsilon"] as number);
  const { tokens, config } = asked;
  const heads = number("num_heads");
  const kinds = config["attention_layers"] as readonly string[];
  const [words, places] = [c.matrix("transformer.wte.weight"), c.matrix("transformer.wpe.weight")];
  let x: Rows = tokens.map((token, i) => words[token]!.map((w, n) => w + places[i]![n]!));
  for (let layer = 0; layer < number("num_layers"); layer++) {
    const at = `transformer.h.${layer}`;
    const input = norm(x, `${at}.ln_1`);
    const project = (name: string) => c.dense(input, `${at}.attn.attention.${name}_proj`, false);
    const window = kinds[layer] === "local" ? number("window_size") : Infinity;
    const heard = c.attention(project("q"), project("k"), project("v"), {
      heads,
      kvHeads: heads,
      scale: 1,
      sees: (i, j) => j <= i && j > i - window,
    });
    x = added(c.dense(heard, `${at}.attn.attention.out_proj`), x);
    const inner = mapped(c.dense(norm(x, `${at}.ln_2`), `${at}.mlp.c_fc`), geluTanh);
    x = added(x, c.dense(inner, `${at}.mlp.c_proj`));
  }
  const hidden = norm(x, "transformer.ln_f");
  return { hidden, logits: c.linear(hidden, words), probs: c.probs };
}

/** Gemma 1, 2 and 3. */
export function gemma(version: 1 | 2 | 3, asked: Asked): FamilyResult {
  const { c, number } = begun(asked, 0);
  const { tokens, config } = asked;
  const epsilon = number("rms_norm_eps");
  const [heads, kvHeads, width] = [number("num_attention_heads"), number("num_key_value_heads"), number("head_dim")];
  const norm = (x: Rows, name: string) =>
    c.rmsNorm(
      x,
      c.vector(`${name}.weight`).map((gain) => gain + 1),
      epsilon,
    );
  const headNorm = (x: Rows, name: string, count: number): Rows =>
    version < 3
      ? x
      : x.map((row) => Array.from({ length: count }, (_, h) => norm([headOf(row, h, width)], name)[0]!).flat());
  const words = c.matrix("model.embed_tokens.weight");
  let x: Rows = tokens.map((token) => words[token]!.map((w) => w * sqrt(number("hidden_size"))));
  const scale = version === 1 ? width ** -0.5 : number("query_pre_attn_scalar") ** -0.5;
  for (let layer = 0; layer < number("num_hidden_layers"); layer++) {
    const at = `model.layers.${layer}`;
    const isLocal =
      version === 2 ? layer % 2 === 0 : version === 3 && (layer + 1) % number("sliding_window_pattern") !== 0;
    const base = version === 3 && isLocal ? number("rope_local_base_freq") : number("rope_theta");
    const input = norm(x, `${at}.input_layernorm`);
    const project = (name: string) => c.dense(input, `${at}.self_attn.${name}_proj`, false);
    const q = turned(headNorm(project("q"), `${at}.self_attn.q_norm`, heads), heads, width, base);
    const k = turned(headNorm(project("k"), `${at}.self_attn.k_norm`, kvHeads), kvHeads, width, base);
    const window = isLocal ? number("sliding_window") : Infinity;
    const heard = c.attention(q, k, project("v"), {
      heads,
      kvHeads,
      scale,
      sees: (i, j) => j <= i && i - j < window,
      softcap: version === 2 ? number("attn_logit_softcapping") : undefined,
    });
    const after = (y: Rows, name: string) => (version === 1 ? y : norm(y, `${at}.${name}`));
    x = added(x, after(c.dense(heard, `${at}.self_attn.o_proj`, false), "post_attention_layernorm"));
    const inner = norm(x, `${at}.${version === 1 ? "post_attention_layernorm" : "pre_feedforward_layernorm"}`);
    const gate = mapped(c.dense(inner, `${at}.mlp.gate_proj`, false), geluTanh);
    const up = c.dense(inner, `${at}.mlp.up_proj`, false);
    const gated = gate.map((row, n) => row.map((value, m) => value * up[n]![m]!));
    x = added(x, after(c.dense(gated, `${at}.mlp.down_proj`, false), "post_feedforward_layernorm"));
  }
  const hidden = norm(x, "model.norm");
  const cap = config["final_logit_softcapping"] as number | null | undefined;
  const logits = c.linear(hidden, words);
  return { hidden, logits: cap ? mapped(logits, (score) => cap * tanh(score / cap)) : logits, probs: c.probs };
}

export function opt(asked: Asked): FamilyResult {
  const { c, number, norm } = begun(asked, 1e-5);
  const { tokens, sees = () => true } = asked;
  const heads = number("num_attention_heads");
  const at = "model.decoder";
  const [words, places] = [c.matrix(`${at}.embed_tokens.weight`), c.matrix(`${at}.embed_positions.weight`)];
  // positions count what the mask shows, from 0; others have −1; and all are moved by 2
  let shown = -1;
  const rows = tokens.map((_, i) => (sees(i) ? ++shown : -1) + 2);
  let x: Rows = tokens.map((token, i) => words[token]!.map((w, n) => w + places[rows[i]!]![n]!));
  const scale = 1 / sqrt(number("hidden_size") / heads);
  for (let layer = 0; layer < number("num_hidden_layers"); layer++) {
    const block = `${at}.layers.${layer}`;
    const input = norm(x, `${block}.self_attn_layer_norm`);
    const project = (name: string) => c.dense(input, `${block}.self_attn.${name}_proj`);
    const form = { heads, kvHeads: heads, scale, sees: (i: number, j: number) => j <= i && sees(j) };
    const heard = c.attention(project("q"), project("k"), project("v"), form);
    x = added(x, c.dense(heard, `${block}.self_attn.out_proj`));
    const inner = mapped(c.dense(norm(x, `${block}.final_layer_norm`), `${block}.fc1`), relu);
    x = added(x, c.dense(inner, `${block}.fc2`));
  }
  const hidden = norm(x, `${at}.final_layer_norm`);
  return { hidden, logits: c.linear(hidden, words), probs: c.probs };
}

export function modernBert(asked: Asked): FamilyResult {
  const { c, number, bareNorm, has } = begun(asked, asked.config["norm_eps"] as number);
  const { tokens, config, sees = () => true } = asked;
  const heads = number("num_attention_heads");
  const width = number("hidden_size");
  const words = c.matrix("model.embeddings.tok_embeddings.weight");
  let x = bareNorm(
    tokens.map((token) => words[token]!),
    "model.embeddings.norm",
  );
  for (let layer = 0; layer < number("num_hidden_layers"); layer++) {
    const at = `model.layers.${layer}`;
    const isGlobal = layer % number("global_attn_every_n_layers") === 0;
    const packed = c.dense(layer === 0 ? x : bareNorm(x, `${at}.attn_norm`), `${at}.attn.Wqkv`, false);
    const role = (n: number) => packed.map((row) => headOf(row, n, width));
    const base = number(isGlobal ? "global_rope_theta" : "local_rope_theta");
    const turn = (y: Rows) => turned(y, heads, width / heads, base);
    const far = isGlobal ? Infinity : floor(number("local_attention") / 2);
    const heard = c.attention(turn(role(0)), turn(role(1)), role(2), {
      heads,
      kvHeads: heads,
      scale: 1 / sqrt(width / heads),
      sees: (i, j) => abs(i - j) <= far && sees(j),
    });
    x = added(x, c.dense(heard, `${at}.attn.Wo`, false));
    const both = c.dense(bareNorm(x, `${at}.mlp_norm`), `${at}.mlp.Wi`, false);
    const size = number("intermediate_size");
    const gated = both.map((row) => headOf(row, 0, size).map((value, m) => gelu(value) * headOf(row, 1, size)[m]!));
    x = added(x, c.dense(gated, `${at}.mlp.Wo`, false));
  }
  const hidden = bareNorm(x, "model.final_norm");
  const head = (y: Rows) => bareNorm(mapped(c.dense(y, "head.dense", false), gelu), "head.norm");
  const mean = hidden[0]!.map((_, n) => hidden.reduce((sum, row) => sum + row[n]!, 0) / hidden.length);
  const pooled = config["classifier_pooling"] === "mean" ? mean : hidden[0]!;
  return {
    hidden,
    logits: has("decoder.bias") ? c.linear(head(hidden), words, c.vector("decoder.bias")) : [],
    ...(has("classifier.weight") && { labels: c.dense(head([pooled]), "classifier") }),
    probs: c.probs,
  };
}
