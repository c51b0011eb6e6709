import type { Bound, Graph, Node, SplitVisible } from "../../formula/graph.js";
import type { FormulaRead, ScoreDerivatives } from "../../formula/derivatives.js";
import { splitVisible } from "../../formula/splitVisible.js";
import { placesOf } from "./formulaWords.js";
import { kindsOf, type NodeKind } from "./nodeKinds.js";

/** What the text of nodes needs to know. */
export interface Writing {
  readonly nodes: readonly Node[];
  readonly kinds: readonly NodeKind[];
  /** By slot: the word of a number, or the first word of a table's four. */
  readonly words: readonly number[];
  /** Before the names of nodes. */
  readonly prefix: string;
}

/** One of the two formulas: its nodes, and what it keeps of a row. */
export interface FormulaPart extends Writing {
  /** The node that is its value; undefined if there is none. */
  readonly result: number | undefined;
  /** The nodes that do not depend on the key, but whose values are needed at each key. */
  readonly held: readonly number[];
}

/** The derivatives of the score: the nodes that compute them, and what they keep of a row. */
export interface DerivativePart extends Omit<FormulaPart, "result"> {
  /** ∂score/∂s */
  readonly byScore: number | undefined;
  /** For the kernel of tables: the places where the score reads a parameter. */
  readonly reads: readonly FormulaRead[];
  /** By slot: whether it is a table. */
  readonly areTables: readonly boolean[];
}

/** The formulas of a kernel, as its text needs them. It depends on their graphs alone, not on parameters. */
export interface FormulaForm {
  /** A number that no other form has. */
  readonly id: number;
  readonly score: FormulaPart;
  /** Without what is in `bounds`. */
  readonly visible: FormulaPart;
  readonly bounds: readonly Bound[];
  /** Of kernels of gradients. */
  readonly derivative?: DerivativePart;
  /** Bytes that a row holds in workgroup memory. */
  readonly rowBytes: number;
}

/** By the graph of `score`, then of `visible`, then by the derivatives. */
const forms = new WeakMap<object, WeakMap<object, Forms>>();
const NONE = {};
let count = 0;

interface Forms {
  readonly forward: FormulaForm;
  /** What gradients of queries, keys, values and biases need, and what those of tables need. */
  pairs?: FormulaForm;
  tables?: FormulaForm;
}

function formsOf(score: Graph | undefined, visible: Graph | undefined): Forms {
  const ofScore = forms.get(score ?? NONE) ?? new WeakMap<object, Forms>();
  forms.set(score ?? NONE, ofScore);
  const found = ofScore.get(visible ?? NONE) ?? { forward: { id: count++, ...formOf(score, visible) } };
  ofScore.set(visible ?? NONE, found);
  return found;
}

/** The form of formulas; undefined if there is none. Equal graphs are the same object, so they have one form. */
export function formulaForm(score: Graph | undefined, visible: Graph | undefined): FormulaForm | undefined {
  return score || visible ? formsOf(score, visible).forward : undefined;
}

/**
 * The form of formulas for gradients.
 *
 * @param kind - "pairs": ∂score/∂s. "tables": the derivatives by what the score reads.
 */
export function gradientForm(
  score: Graph | undefined,
  visible: Graph | undefined,
  derivatives: ScoreDerivatives | undefined,
  kind: "pairs" | "tables",
): FormulaForm | undefined {
  if (!score && !visible) return undefined;
  const known = formsOf(score, visible);
  return (known[kind] ??= { ...withDerivative(known.forward, score, derivatives, kind), id: count++ });
}

function withDerivative(
  forward: FormulaForm,
  score: Graph | undefined,
  derivatives: ScoreDerivatives | undefined,
  kind: "pairs" | "tables",
): FormulaForm {
  const { nodes, byScore, reads }: ScoreDerivatives = derivatives ?? { nodes: [], byScore: 0, reads: [] };
  const own = kind === "pairs" ? [] : reads;
  const results = [
    ...(derivatives && kind === "pairs" ? [byScore] : []),
    ...own.flatMap(({ derivative, row, column }) => [derivative, row, column].filter((node) => node !== undefined)),
  ];
  const part = partOf(nodes, results, score, forward.score.words, "d");
  const derivative = {
    ...part,
    byScore: derivatives && kind === "pairs" ? byScore : undefined,
    reads: own,
    areTables: (score?.parameters ?? []).map(({ rank }) => rank > 0),
  };
  return { ...forward, derivative, rowBytes: forward.rowBytes + 4 * part.held.length };
}

const EVERYTHING: SplitVisible = { nodes: [], bounds: [], rest: undefined };

function formOf(score: Graph | undefined, visible: Graph | undefined): Omit<FormulaForm, "id"> {
  const ofVisible = placesOf(visible?.parameters ?? []);
  const ofScore = placesOf(score?.parameters ?? [], ofVisible.end);
  const split = visible ? splitVisible(visible) : EVERYTHING;
  const parts = {
    visible: formulaPart(split.nodes, split.rest, visible, ofVisible.words, "v"),
    score: formulaPart(score?.nodes ?? [], score?.result, score, ofScore.words, "s"),
  };
  const fields = 1 + parts.visible.held.length + parts.score.held.length; // and the sequence's first key
  return { ...parts, bounds: split.bounds, rowBytes: 4 * fields };
}

function formulaPart(
  nodes: readonly Node[],
  result: number | undefined,
  graph: Graph | undefined,
  words: readonly number[],
  prefix: string,
): FormulaPart {
  return { ...partOf(nodes, result === undefined ? [] : [result], graph, words, prefix), result };
}

function partOf(
  nodes: readonly Node[],
  results: readonly number[],
  graph: Graph | undefined,
  words: readonly number[],
  prefix: string,
): Omit<FormulaPart, "result"> {
  const kinds = kindsOf(nodes, graph?.parameters ?? []);
  const isOfRow = (index: number) => !kinds[index]!.byKey;
  const needed = nodesFor(nodes, results, isOfRow);
  const held = needed.filter((index) => isOfRow(index) && nodes[index]!.op !== "number");
  return { nodes, kinds, words, prefix, held };
}

/** Nodes that `results` are computed from, with them, in order. Where `known` is true, what it is computed from is left out. */
export function nodesFor(
  nodes: readonly Node[],
  results: readonly number[],
  known: (index: number) => boolean,
): number[] {
  const needed = new Set<number>();
  const visit = (index: number) => {
    if (needed.has(index)) return;
    needed.add(index);
    if (!known(index)) nodes[index]!.of.forEach(visit);
  };
  results.forEach(visit);
  return [...needed].sort((a, b) => a - b);
}
