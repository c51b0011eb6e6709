import { splitVisible } from "../../formula/splitVisible.js";
import type { Bound, Graph, SplitVisible } from "../../formula/graph.js";
import type { FormulaText } from "../kernels/kernel.js";
import { placesOf } from "./formulaWords.js";
import { kindsOf } from "./nodeKinds.js";
import { nodesFor, RangeText, ScalarText, TYPES, type VariableTexts, type Writing } from "./writeNodes.js";

/** By the graph of `score`, then of `visible`. */
const texts = new WeakMap<object, WeakMap<object, FormulaText>>();
const NONE = {};
let count = 0;

/** The text of formulas; undefined if there is none. Equal graphs are the same object, so they have one text. */
export function formulaText(score: Graph | undefined, visible: Graph | undefined): FormulaText | undefined {
  if (!score && !visible) return undefined;
  const ofScore = texts.get(score ?? NONE) ?? new WeakMap<object, FormulaText>();
  texts.set(score ?? NONE, ofScore);
  const text = ofScore.get(visible ?? NONE) ?? { id: count++, ...textOf(score, visible) };
  ofScore.set(visible ?? NONE, text);
  return text;
}

/** Variables of a row. */
const ROW: VariableTexts = {
  s: "s",
  k: "k",
  j: "j",
  q: "f32(i32(i) + sequence.offset)",
  i: "f32(i)",
  h: "f32(row.head)",
  g: "f32(row.head / params.group_size)",
  b: "f32(number)",
  Sq: "f32(sequence.num_queries)",
  Skv: "f32(sequence.num_keys)",
  D: "float_from(number_at(0u))",
};
/** Variables of a key, for a row that is known. */
const PAIR: VariableTexts = {
  ...ROW,
  k: "f32(position_of(j, row.dropped) - row.formulas.key_begin)",
  j: "f32(j - row.formulas.key_begin)",
};

function textOf(score: Graph | undefined, visible: Graph | undefined): Omit<FormulaText, "id"> {
  const ofVisible = placesOf(visible?.parameters ?? []);
  const ofScore = placesOf(score?.parameters ?? [], ofVisible.end);
  const split = visible ? splitVisible(visible) : EVERYTHING;
  const rest = writing(split.nodes, visible, ofVisible.words, "v");
  const scores = writing(score?.nodes ?? [], score, ofScore.words, "s");
  const parts = [
    { ...rest, results: split.rest === undefined ? [] : [split.rest] },
    { ...scores, results: score ? [score.result] : [] },
  ].map((part) => ({ ...part, held: heldByRow(part) }));
  const fields = parts.flatMap(({ prefix, kinds, held }) =>
    held.map((index) => ({ name: `${prefix}${index}`, type: TYPES[kinds[index]!.held] })),
  );
  const [visibleHeld, scoreHeld] = parts.map(({ held }) => held) as [number[], number[]];
  return {
    rules: [
      `const HAS_SCORE = ${score !== undefined};`,
      "",
      "/// What the formulas keep of a row.",
      "struct FormulaRow {",
      "  key_begin: i32,",
      ...fields.map(({ name, type }) => `  ${name}: ${type},`),
      "}",
      "",
      ...rowText(rest, visibleHeld, split.bounds, scores, scoreHeld),
      "",
      "fn formula_rest(row: Row, j: i32) -> bool {",
      ...(split.rest === undefined ? ["  return true;"] : pairText(rest, visibleHeld, split.rest, "bool")),
      "}",
      "",
      "fn formula_score(row: Row, j: i32, s: u32) -> u32 {",
      ...(score ? pairText(scores, scoreHeld, score.result, "word") : ["  return s;"]),
      "}",
      "",
    ].join("\n"),
    tiles: tilesText(rest, split),
    rowBytes: 4 * (1 + fields.length),
  };
}

const EVERYTHING: SplitVisible = { nodes: [], bounds: [], rest: undefined };

function writing(
  nodes: SplitVisible["nodes"],
  graph: Graph | undefined,
  words: readonly number[],
  prefix: string,
): Writing {
  return { nodes, kinds: kindsOf(nodes, graph?.parameters ?? []), words, prefix };
}

/** The nodes that do not depend on the key, but whose values the results need at each key. */
function heldByRow({ nodes, kinds, results }: Writing & { readonly results: readonly number[] }): number[] {
  const isOfRow = (index: number) => !kinds[index]!.byKey;
  return nodesFor(nodes, results, isOfRow).filter((index) => isOfRow(index) && nodes[index]!.op !== "number");
}

/** The function that computes what a row keeps, and the limits of its keys. */
function rowText(
  visible: Writing,
  visibleHeld: readonly number[],
  bounds: readonly Bound[],
  score: Writing,
  scoreHeld: readonly number[],
): string[] {
  const ofVisible = new ScalarText(visible, ROW, () => undefined);
  const ofScore = new ScalarText(score, ROW, () => undefined);
  const held = [...visibleHeld.map((index) => ofVisible.held(index)), ...scoreHeld.map((index) => ofScore.held(index))];
  const word = (index: number | undefined) => (index === undefined ? "0u" : ofVisible.word(index));
  return [
    "/// Row `i` of a sequence with what the formulas keep of it, and without keys outside of their limits.",
    "fn with_formulas(before: Row, sequence: Sequence, number: u32, i: u32) -> Row {",
    "  var row = before;",
    ...ofVisible.lines([...visibleHeld, ...limitNodes(bounds)]),
    ...ofScore.lines(scoreHeld),
    `  row.formulas = FormulaRow(${["sequence.key_begin", ...held].join(", ")});`,
    ...bounds.flatMap((bound, n) => [
      `  let limit${n} = ${limitText(bound, word(bound.limit), word(bound.integer))};`,
      `  row.begin = max(row.begin, sequence.key_begin + limit${n}.begin);`,
      `  row.end = max(row.begin, min(row.end, sequence.key_begin + limit${n}.end));`,
    ]),
    "  return row;",
    "}",
  ];
}

function limitNodes(bounds: readonly Bound[]): number[] {
  return bounds.flatMap(({ integer, limit }) => [integer, limit]).filter((index) => index !== undefined);
}

/** The keys within a limit, of these words. */
function limitText({ axis, coefficient, strict }: Bound, limit: string, integer: string): string {
  const positions = `within_limit(${limit}, ${integer}, ${coefficient}i, ${strict})`;
  return axis === "k" ? `rows_at(${positions}, sequence.dropped)` : positions;
}

/** The body of a function of a pair. */
function pairText(all: Writing, held: readonly number[], result: number, as: "bool" | "word"): string[] {
  const text = new ScalarText(all, PAIR, (index) =>
    held.includes(index) ? `row.formulas.${all.prefix}${index}` : undefined,
  );
  return [...text.lines([result]), `  return ${text[as](result)};`];
}

/**
 * With more operations no interval arithmetic is written for the rest: it takes compilers long, and of so many operations
 * hardly a tile is certain.
 */
const MOST_OF_RANGES = 64;

/** The body of `rest_over`. */
function restOver(ranges: RangeText, all: Writing, rest: number | undefined): string[] {
  if (rest === undefined) return ["  return ALWAYS;"];
  if (nodesFor(all.nodes, [rest], () => false).length > MOST_OF_RANGES) return ["  return NEVER | ALWAYS;"];
  return [...ranges.lines([rest]), `  return ${ranges.maybe(rest)};`];
}

function tilesText(all: Writing, { bounds, rest }: SplitVisible): string {
  const ranges = new RangeText(all);
  const limits = bounds.flatMap((bound, n) => {
    const edge = (index: number | undefined, side: "low" | "high") =>
      index === undefined ? "0u" : `word_of(${ranges.range(index)}.${side})`;
    const isNan = bound.limit === undefined ? "false" : `${ranges.range(bound.limit)}.nan`;
    const least = `select(${edge(bound.limit, "low")}, NOT_A_NUMBER, ${isNan})`;
    return [
      `  let some${n} = ${limitText(bound, edge(bound.limit, "high"), edge(bound.integer, "low"))};`,
      `  let all${n} = ${limitText(bound, least, edge(bound.integer, "high"))};`,
      `  keys = FormulaKeys(common_keys(keys.some, some${n}), common_keys(keys.all, all${n}));`,
    ];
  });
  return [
    "fn formula_keys(tile: FormulaTile, sequence: Sequence) -> FormulaKeys {",
    "  let everything = KeyRange(-FARTHEST, FARTHEST);",
    "  var keys = FormulaKeys(everything, everything);",
    ...ranges.lines(limitNodes(bounds)),
    ...limits,
    "  return keys;",
    "}",
    "",
    "fn rest_over(tile: FormulaTile) -> u32 {",
    ...restOver(ranges, all, rest),
    "}",
    "",
  ].join("\n");
}
