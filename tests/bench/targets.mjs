// The targets of headwise, with the measured values. They only inform; nothing fails.

import { CASES } from "./harness/cases.mjs";

/** Goals for the share of the roof, inside the engine. */
const WIDE_SHARE = 0.8;
const NARROW_SHARE = 0.75;
const NARROW_SHORT_SHARE = 0.7;
const DECODE_SHARE = 0.75;
const LAYER_SHARE = 0.8;
const ROTARY_LAYER_SHARE = 0.83;
const ONE_TOKEN_SHARE = 0.75;

/** From this width on, heads are wide; below, they are narrow. */
const WIDE = 128;
/** With fewer rows, narrow heads have a goal of their own. */
const MANY_ROWS = 256;
/** Up to this many rows on a cache are decoding. */
const DECODED_ROWS = 16;
/** With so many keys, a cache of float32 is larger than a third-level cache. */
const FAR_KEYS = 32768;

const POSITIONS_RATIO = 1.03;
const LAYER_TIMES_FASTER = 1.6;
const FIRST_CALL_RATIO = 2;
const INIT_MILLISECONDS = 50;
const OUTSIDE_SHARE = 0.1;
const SHORT_OUTSIDE_SHARE = 0.2;
const SCRATCH_MEGABYTES = 64;
const LOOKED_AT_RATIO = 2;
/** Each formula, the case that it is compared with, and the goal. */
export const FORMULA_RATIOS = [
  ["formula 4 operations 12×512×64", "BERT 12×512×64", 1.15],
  ["formula softcap 12×512×64", "softcap 12×512×64", 1.1],
  ["formula table 12×512×64", "BERT 12×512×64", 1.35],
  ["formula causal 12×1024×64", "causal 12×1024×64", 1.1],
  ["formula documents 12×2048×64", "12×2048×64", 0.15],
];
const GRADIENT_RATIO = 3.2;
const GRADIENT_SHARE = 0.7;
const TIMES_FASTER_THAN_JAX = 2;
const TIMES_FASTER_THAN_TFJS = 10;
const SPEED_UP = 1.85;
const SPEED_UP_IN_BROWSER = 1.75;
/** Threads need not make shorter calls faster. */
const SHARED_MILLISECONDS = 1;

const SHORT = "BERT 12×128×64";
const TYPICAL = "BERT 12×512×64";
const LAYER = "layer 768→12×64→768 at 512";
const PREFILL = ["dense", "causal", "window"];

/**
 * @param {object} run - of one configuration: { variant, threads, records }
 * @param {object[]} runs - all runs so far
 * @param {boolean} inBrowser
 * @returns {{ name: string, value: number, goal: number, atMost: boolean, isMet: boolean }[]}
 */
export function targetsOf(run, runs, inBrowser) {
  const { records } = run;
  return [
    ...sharesOfRoof(records),
    ...smallCaches(records),
    ...speedUp(run, runs, inBrowser ? SPEED_UP_IN_BROWSER : SPEED_UP),
    ...ofLayers(records),
    ...ofTypicalCases(records),
    ...ofFormulas(records),
    ...ofGradients(records),
    ...worst(records.filter(isInThisThread), "init, ms", INIT_MILLISECONDS, (record) => record.initMilliseconds),
    ...worst(records, "scratch at 65,536 keys, MB", SCRATCH_MEGABYTES, (record) => record.scratchBytes / 2 ** 20),
  ];
}

const shapeOf = (record) => CASES.find(({ name }) => name === record.case);
const isInThisThread = (record) => !shapeOf(record)?.inWorker;

/** The targets of other times than calls; each has a goal of its own. */
export const timesTargets = (records) =>
  records.map(({ case: name, milliseconds, goal }) => atMost(`${name}, ms`, milliseconds, goal));

export const describe = ({ name, value, goal, atMost, isMet }) =>
  `  ${isMet ? "met   " : "missed"} ${name}: ${value.toFixed(2)}, goal ${atMost ? "≤" : "≥"} ${goal}`;

const atLeast = (name, value, goal) => ({ name, value, goal, atMost: false, isMet: value >= goal });
const atMost = (name, value, goal) => ({ name, value, goal, atMost: true, isMet: value <= goal });

/**
 * The class of a case and the share of the roof that it should reach. undefined: it has no such goal. Of a mask with
 * holes everywhere most of what is computed is not visible, and top-k computes scores twice.
 */
export function shareGoal({
  small,
  layer,
  position,
  queries,
  dim,
  cache,
  lengths,
  mask,
  topK,
  once,
  softcap,
  formula,
  gradient,
  linear,
}) {
  if (small) return undefined;
  if (linear) return linear.dtype === "float32" ? ["linear maps of one row", ONE_TOKEN_SHARE] : undefined;
  if (gradient) return gradient === "alone" ? ["gradients", GRADIENT_SHARE] : undefined;
  if (once || topK || softcap || formula || mask === "holes" || (cache && cache !== "float32")) return undefined;
  if (layer && queries === 1) return ["layers, one token", ONE_TOKEN_SHARE];
  if (layer) return position === "rotary" ? ["layers with rotary", ROTARY_LAYER_SHARE] : ["layers", LAYER_SHARE];
  if (cache && queries <= DECODED_ROWS) return ["decoding", DECODE_SHARE];
  if (dim >= WIDE) return [`heads of ${WIDE} and more`, WIDE_SHARE];
  if (Math.min(queries, ...(lengths ?? [])) >= MANY_ROWS)
    return [`narrower heads from ${MANY_ROWS} rows on`, NARROW_SHARE];
  return [`narrower heads below ${MANY_ROWS} rows`, NARROW_SHORT_SHARE];
}

/** For each class of cases the least share of the roof inside the engine: no shape may fall behind. */
function sharesOfRoof(records) {
  const shares = records.flatMap((record) => {
    const shape = shapeOf(record);
    const [kind, goal] = (record.inside && shape && shareGoal(shape)) ?? [];
    return kind ? [{ kind, goal, name: record.case, share: record.inside.share }] : [];
  });
  return [...new Set(shares.map(({ kind }) => kind))].map((kind) => {
    const own = shares.filter((each) => each.kind === kind);
    const least = own.reduce((a, b) => (b.share < a.share ? b : a));
    const met = own.filter(({ share, goal }) => share >= goal).length;
    const name = `${kind}, least share of the roof, inside (${least.name}; ${met} of ${own.length} met)`;
    return atLeast(name, least.share, least.goal);
  });
}

/** float16 and int8 caches need fewer bytes, so they should not be slower than float32. */
function smallCaches(records) {
  const decode = (cache) => records.find((record) => record.case === `decode 32/8×${FAR_KEYS}×128 ${cache}`);
  const float32 = decode("float32");
  return ["float16", "int8"].flatMap((cache) => {
    const small = decode(cache);
    return small && float32 ? [atMost(`${small.case} ÷ float32`, insideOf(small) / insideOf(float32), 1)] : [];
  });
}

export const insideOf = ({ inside }) => inside.milliseconds;

/** The smallest gain from two threads, over the prefill cases that are long enough. */
function speedUp({ variant, threads, records }, runs, goal) {
  const single = runs.find((run) => run.variant === variant && run.threads === 1);
  if (threads !== 2 || !single) return [];
  const gains = single.records
    .filter(({ group, milliseconds }) => PREFILL.includes(group) && milliseconds >= SHARED_MILLISECONDS)
    .flatMap(({ case: name, milliseconds }) =>
      records.filter((record) => record.case === name).map((record) => milliseconds / record.milliseconds),
    );
  return gains.length ? [atLeast("prefill, least gain of two threads", Math.min(...gains), goal)] : [];
}

function ofLayers(records) {
  const layers = records.filter(({ group }) => group.startsWith("layer"));
  const plain = layers.find((record) => record.case === LAYER);
  const positioned = layers.filter(({ group }) => group === "layer with positions");
  const whole = [...(plain ? [plain] : []), ...positioned].filter(({ peers }) => peers.ort);
  return [
    ...(plain
      ? worst(positioned, `layer with positions ÷ without`, POSITIONS_RATIO, (each) => insideOf(each) / insideOf(plain))
      : []),
    ...(whole.length > 0
      ? [
          atLeast(
            "layer, least × ONNX Runtime Web",
            Math.min(...whole.map(({ peers }) => peers.ort.ratio)),
            LAYER_TIMES_FASTER,
          ),
        ]
      : []),
  ];
}

function ofTypicalCases(records) {
  const [typical, short] = [TYPICAL, SHORT].map((name) => records.find((record) => record.case === name));
  const lookedAt = records.find(({ group }) => group === "looked at");
  const outside = (record, goal) => [atMost(`${record.case}, share outside the engine`, record.outside, goal)];
  return [
    ...(typical
      ? [atMost(`${TYPICAL}, first call ÷ steady`, typical.firstMilliseconds / typical.milliseconds, FIRST_CALL_RATIO)]
      : []),
    ...(typical ? outside(typical, OUTSIDE_SHARE) : []),
    ...(short ? outside(short, SHORT_OUTSIDE_SHARE) : []),
    ...(typical && lookedAt
      ? [atMost(`${lookedAt.case} ÷ plain`, lookedAt.milliseconds / typical.milliseconds, LOOKED_AT_RATIO)]
      : []),
  ];
}

function ofFormulas(records) {
  return FORMULA_RATIOS.flatMap(([name, other, goal]) => {
    const [own, compared] = [name, other].map((wanted) => records.find((record) => record.case === wanted));
    return own && compared ? [atMost(`${name} ÷ ${other}`, insideOf(own) / insideOf(compared), goal)] : [];
  });
}

function ofGradients(records) {
  const named = (name) => records.find((record) => record.case === name);
  const [gradient, forward, whole] = ["gradient 12×512×64", TYPICAL, "with gradient 12×512×64"].map(named);
  const peers = [
    ["jax", TIMES_FASTER_THAN_JAX],
    ["tfjs", TIMES_FASTER_THAN_TFJS],
  ].filter(([peer]) => whole?.peers[peer]);
  return [
    ...(gradient && forward
      ? [atMost(`${gradient.case} ÷ ${TYPICAL}`, insideOf(gradient) / insideOf(forward), GRADIENT_RATIO)]
      : []),
    ...peers.map(([peer, goal]) => atLeast(`${whole.case}, × ${peer}`, whole.peers[peer].ratio, goal)),
  ];
}

/** The largest value of all records. */
function worst(records, name, goal, read) {
  const values = records.map(read).filter(Number.isFinite);
  return values.length ? [atMost(name, Math.max(...values), goal)] : [];
}
