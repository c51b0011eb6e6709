import type { FormulaRead } from "../../formula/derivatives.js";
import type { Bound } from "../../formula/graph.js";
import { nodesFor, type DerivativePart, type FormulaForm, type FormulaPart } from "./formulaForm.js";
import { RangeText, ScalarText, TYPES, type VariableTexts } from "./writeNodes.js";

/** The text of a kernel's formulas. */
export interface FormulaText {
  /** The functions that formula_rules.wgsl calls. */
  readonly rules: string;
  /** The functions that formula_tiles.wgsl calls. */
  readonly tiles: string;
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

/** What a row keeps of a formula or of derivatives. */
type RowPart = Omit<FormulaPart, "result">;

export function formulaText({ score, visible, bounds, derivative }: FormulaForm): FormulaText {
  const parts = [visible, score, ...(derivative ? [derivative] : [])];
  const fields = parts.flatMap(({ prefix, kinds, held }) =>
    held.map((index) => ({ name: `${prefix}${index}`, type: TYPES[kinds[index]!.held] })),
  );
  return {
    rules: [
      `const HAS_SCORE = ${score.result !== undefined};`,
      "",
      "/// What the formulas keep of a row.",
      "struct FormulaRow {",
      "  key_begin: i32,",
      ...fields.map(({ name, type }) => `  ${name}: ${type},`),
      "}",
      "",
      ...rowText(parts, bounds),
      "",
      "fn formula_rest(row: Row, j: i32) -> bool {",
      ...(visible.result === undefined ? ["  return true;"] : pairText(visible, visible.result, "bool")),
      "}",
      "",
      "fn formula_score(row: Row, j: i32, s: u32) -> u32 {",
      ...(score.result === undefined ? ["  return s;"] : pairText(score, score.result, "word")),
      "}",
      "",
      ...(derivative ? derivativeText(derivative) : []),
    ].join("\n"),
    tiles: tilesText(visible, bounds),
  };
}

/** The function that computes what a row keeps, and the limits of its keys. The first part is that of `visible`. */
function rowText(parts: readonly RowPart[], bounds: readonly Bound[]): string[] {
  const texts = parts.map((part) => new ScalarText(part, ROW, () => undefined));
  const ofVisible = texts[0]!;
  const held = parts.flatMap((part, n) => part.held.map((index) => texts[n]!.held(index)));
  const word = (index: number | undefined) => (index === undefined ? "0u" : ofVisible.word(index));
  return [
    "/// Row `i` of a sequence with what the formulas keep of it, and without keys outside of their limits.",
    "fn with_formulas(before: Row, sequence: Sequence, number: u32, i: u32) -> Row {",
    "  var row = before;",
    ...parts.flatMap((part, n) => texts[n]!.lines([...part.held, ...(n === 0 ? limitNodes(bounds) : [])])),
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
function pairText(part: RowPart, result: number, as: "bool" | "word"): string[] {
  const text = ofPair(part);
  return [...text.lines([result]), `  return ${text[as](result)};`];
}

function ofPair(part: RowPart): ScalarText {
  return new ScalarText(part, PAIR, (index) =>
    part.held.includes(index) ? `row.formulas.${part.prefix}${index}` : undefined,
  );
}

/** The functions that formula_differentiated.wgsl and backward_tables.wgsl call. */
function derivativeText(part: DerivativePart): string[] {
  const { byScore, reads } = part;
  return [
    "fn formula_derivative(row: Row, j: i32, s: u32) -> u32 {",
    ...(byScore === undefined ? ["  return ONE;"] : pairText(part, byScore, "word")),
    "}",
    "",
    `const READS = ${reads.length}u;`,
    "",
    "/// A word of the formulas that a pair reads, and the derivative of its score by that.",
    "struct FormulaRead {",
    "  entry: u32,",
    "  derivative: u32,",
    "}",
    "",
    ...reads.flatMap((read, n) => [
      `fn formula_read${n}(row: Row, j: i32, s: u32) -> FormulaRead {`,
      ...readText(part, read),
      "}",
      "",
    ]),
    "fn formula_read(n: u32, row: Row, j: i32, s: u32) -> FormulaRead {",
    ...reads.map((_, n) => `  if (n == ${n}u) { return formula_read${n}(row, j, s); }`),
    "  return FormulaRead(0u, 0u);",
    "}",
    "",
  ];
}

/** The body of the function of a read. */
function readText(part: DerivativePart, { slot, derivative, row, column }: FormulaRead): string[] {
  const text = ofPair(part);
  const at = `${part.words[slot]!}u`;
  const index = (node: number | undefined) => (node === undefined ? "0f" : text.index(node));
  const entry = part.areTables[slot] ? `place_of_entry(${at}, ${index(row)}, ${index(column)})` : at;
  const nodes = [derivative, row, column].filter((node) => node !== undefined);
  return [...text.lines(nodes), `  return FormulaRead(${entry}, ${text.word(derivative)});`];
}

/**
 * With more operations no interval arithmetic is written for the rest: it takes compilers long, and of so many operations
 * hardly a tile is certain.
 */
const MOST_OF_RANGES = 64;

/** The body of `rest_over`. */
function restOver(ranges: RangeText, { nodes, result }: FormulaPart): string[] {
  if (result === undefined) return ["  return ALWAYS;"];
  if (nodesFor(nodes, [result], () => false).length > MOST_OF_RANGES) return ["  return NEVER | ALWAYS;"];
  return [...ranges.lines([result]), `  return ${ranges.maybe(result)};`];
}

function tilesText(visible: FormulaPart, bounds: readonly Bound[]): string {
  const ranges = new RangeText(visible);
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
    ...restOver(ranges, visible),
    "}",
    "",
  ].join("\n");
}
