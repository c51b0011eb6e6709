import type { PlacedGradients } from "../../attention/backwardProblem.js";
import type { ResultTensor } from "../../attention/attentionResult.js";
import { assertIntact } from "../../base/intact.js";
import type {
  InnerGradient,
  LayerBackwardProblem,
  PlacedLayerGradients,
  WeightGradients,
} from "../../layer/backwardProblem.js";
import { readDerivatives } from "../../formula/derivatives.js";
import type { LayerProblem } from "../../layer/layerProblem.js";
import { product } from "../../tensor/product.js";
import type { PlacedFloats } from "../../tensor/tensor.js";
import { backwardOn, type GradientTarget } from "../attention/backward.js";
import { insideTensor } from "../call/span.js";
import { hand } from "../attention/result.js";
import { padded } from "../cache/cacheStore.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { plannedBackward } from "../plan/backward.js";
import { FLAT_WORKGROUP, flatKernel } from "../plan/flatKernels.js";
import { checkBytes, divideUp } from "../plan/limits.js";
import { stridesOf } from "../plan/strides.js";
import { gainsOf, headsBack, type Angles, type HeadEnds } from "./headEnds.js";
import { one, stacked } from "./matrix.js";
import { project, type Product } from "./projection.js";
import { ROLES, runsOf, type OfRoles, type Role } from "./roles.js";
import type { SavedCall } from "./saved.js";
import { tokenRows } from "./tokenRows.js";
import { columnSums, ROW, storeGradient, weightGradient, type Matrix4, type PartSums } from "./weightGradient.js";
import type { Parts, Sections } from "./weights.js";

/** A layer on the GPU, for the gradient of one of its calls. */
export interface LayerThere {
  readonly problem: LayerProblem;
  readonly ends: HeadEnds | undefined;
  readonly parts: Parts;
  readonly sections: Sections;
  readonly backs: Sections;
  readonly angles: Angles;
}

/** Lists the commands of a layer's gradient, from the output back to the inputs. */
export function recordLayerBackward(
  call: Call,
  layer: LayerThere,
  saved: SavedCall,
  problem: LayerBackwardProblem,
): Deliver<PlacedLayerGradients> {
  const results = new WeightResults(call, problem);
  const dHeads = outputBack(call, layer, saved, problem, results);
  const groups = groupsOf(call, layer, saved);
  const inner = attentionBack(call, saved, problem, dHeads, groups);
  endsBack(call, layer, groups, results);
  const inputs = groups.map((group) => groupBack(call, layer, saved, problem, group, results));
  const deliverWeights = results.deliver();
  return (mapped) => {
    const attention = inner(mapped);
    const ofInputs = inputs.map((deliver) => deliver(mapped));
    return Object.assign({}, attention, ...ofInputs, deliverWeights(mapped)) as PlacedLayerGradients;
  };
}

/** The gradients of the weights, by their names. */
class WeightResults {
  /** undefined if they are not wanted. */
  readonly places: WeightGradients | undefined;
  readonly #call: Call;
  readonly #problem: LayerBackwardProblem;
  readonly #spans = new Map<string, Span>();

  constructor(call: Call, problem: LayerBackwardProblem) {
    this.#call = call;
    this.#problem = problem;
    this.places = problem.wanted.gradients ? problem.gradients : undefined;
  }

  /** The gradient of a whole tensor. Roles may write parts of it. */
  span(name: string): Span {
    const made = this.#spans.get(name) ?? this.#call.resultRoom(this.#bytes(name), this.#location);
    this.#spans.set(name, made);
    return made;
  }

  /** Stores the gradients of a role's weight, from column `column` of the sums on. */
  storeWeight(role: Role | "output", { roles, output }: Parts, sums: () => PartSums, column = 0): void {
    const place = this.places?.weights[role];
    if (!place) return;
    const { inputs, outputs } = role === "output" ? output! : roles[role];
    storeGradient(this.#call, sums(), column, inputs, outputs, this.span(place.name), place);
  }

  storeBias(role: Role | "output", { roles, output }: Parts, sums: () => PartSums, column = 0): void {
    const place = this.places?.biases[role];
    if (!place) return;
    const { outputs } = role === "output" ? output! : roles[role];
    storeGradient(this.#call, sums(), column, one(1), outputs, this.span(place.name), { ...ROW, offset: place.offset });
  }

  deliver(): Deliver<Pick<PlacedLayerGradients, "gradients">> {
    if (!this.places) return () => ({});
    const { accumulate } = this.#problem;
    const reads = [...this.#spans].map(([name, span]) => {
      const exact = this.#location === "cpu" ? { ...span, bytes: this.#bytes(name) } : span;
      const read = hand(this.#call, exact, this.places!.shapes[name]!, "float32", this.#location);
      return [name, read] as const;
    });
    return (mapped) => {
      const gradients = Object.fromEntries(reads.map(([name, read]) => [name, read(mapped)]));
      return { gradients: accumulate ? addedTo(this.#problem.operation, accumulate, gradients) : gradients };
    };
  }

  /** Gradients that are added to others are added in JavaScript. */
  get #location(): "cpu" | "gpu" {
    return this.#problem.accumulate ? "cpu" : this.#problem.location;
  }

  #bytes(name: string): number {
    return 4 * product(this.places!.shapes[name]!);
  }
}

type Accumulated = NonNullable<LayerBackwardProblem["accumulate"]>;

function addedTo(
  operation: string,
  accumulated: Accumulated,
  gradients: Readonly<Record<string, ResultTensor<"float32">>>,
): Accumulated {
  for (const name of Object.keys(gradients)) assertIntact(operation, `accumulate.${name}`, accumulated[name]!.data);
  for (const [name, gradient] of Object.entries(gradients)) {
    const [sum, term] = [accumulated[name]!.data, (gradient as { readonly data: Float32Array }).data];
    for (let n = 0; n < sum.length; ++n) sum[n]! += term[n]!;
  }
  return accumulated;
}

/** The gradient of the concatenated heads; also those of the output projection. */
function outputBack(
  call: Call,
  { problem: layer, parts, backs }: LayerThere,
  { attention }: SavedCall,
  { dOutput }: LayerBackwardProblem,
  results: WeightResults,
): PlacedFloats {
  if (!backs.output) return dOutput;
  const { batchSize, queryLength, numHeads, valueDim } = attention.problem.shape; // valueDim is padded
  const { outputDim } = layer.shape;
  const rows = batchSize * queryLength;
  const dy: Matrix4 = {
    span: tokenRows(call, dOutput, layer.layout, [batchSize, queryLength, outputDim]),
    rows,
    row4: divideUp(outputDim, 4),
  };
  const columns = numHeads * valueDim;
  const heads = { span: attention.output, rows, row4: columns / 4 };
  results.storeWeight("output", parts, () => weightGradient(call, heads, dy));
  results.storeBias("output", parts, () => columnSums(call, dy));
  const dHeads = call.room(4 * rows * columns);
  const product = { rows, length: rows, first4: 0, columns, batch: 0, position: columns, feature: 1 };
  project(call, dy.span, stacked([backs.output]), product, dHeads);
  return insideTensor("dOutput", dHeads);
}

/** Roles that were projected from the same rows. Their gradients lie side by side, heads padded to whole vec4. */
interface Group {
  readonly roles: readonly Role[];
  /** The rows that were projected. */
  readonly input: Matrix4;
  /** Rows of one batch. */
  readonly length: number;
  readonly gradient: Matrix4;
  /** The first column of each role. */
  readonly firsts: Partial<OfRoles<number>>;
}

function groupsOf(call: Call, { parts, backs }: LayerThere, { attention, inputs, contextLength }: SavedCall): Group[] {
  const { batchSize, queryLength } = attention.problem.shape;
  const runs = runsOf(
    ROLES,
    (run, role) => inputs[run[0]!] === inputs[role] && backs.roles[run[0]!].matrix === backs.roles[role].matrix,
  );
  return runs.map((roles) => {
    const length = roles[0] === "query" ? queryLength : contextLength;
    const rows = batchSize * length;
    const widths = roles.map((role) => backs.roles[role].rows);
    const row = widths.reduce((sum, width) => sum + width, 0);
    const bytes = 4 * rows * row;
    checkBytes(call.operation, `the gradient of ${roles.join(" and ")}`, bytes, call.core.device.limits);
    const span = call.room(bytes);
    if (roles.some((role) => parts.roles[role].outputs.width % 4 !== 0)) call.clear(span);
    const firsts = roles.map((role, n) => [role, widths.slice(0, n).reduce((sum, width) => sum + width, 0)]);
    return {
      roles,
      length,
      input: { span: inputs[roles[0]!], rows, row4: divideUp(parts.roles[roles[0]!].inputs.width, 4) },
      gradient: { span, rows, row4: row / 4 },
      firsts: Object.fromEntries(firsts) as Partial<OfRoles<number>>,
    };
  });
}

const INNER = ["dBias", "dSinks", "dHeadGain", "dAlibiSlopes", "dTables"] as const satisfies readonly InnerGradient[];

/** The gradient of the attention inside of the layer: those of queries, keys and values go to their groups. */
function attentionBack(
  call: Call,
  { attention }: SavedCall,
  { operation, wanted, dLse, location }: LayerBackwardProblem,
  dOutput: PlacedFloats,
  groups: readonly Group[],
): Deliver<Omit<PlacedGradients, "dQuery" | "dKey" | "dValue">> {
  const { problem, sequences, inPlace, output, lse } = attention;
  const { score } = problem.settings;
  const inner = Object.fromEntries(INNER.map((name) => [name, wanted[name]])) as Record<InnerGradient, boolean>;
  const backward = {
    ...problem,
    operation,
    output: insideTensor("output", output),
    lse: insideTensor("lse", lse),
    dOutput,
    dLse,
    derivatives: score && readDerivatives(operation, score),
    wanted: { dQuery: true, dKey: true, dValue: true, ...inner },
    location,
  };
  const planned = plannedBackward(backward, sequences, call.core.device.capabilities, inPlace);
  const target = (role: Role): GradientTarget => {
    const { gradient, firsts, length } = groups.find(({ roles }) => roles.includes(role))!;
    const position = 4 * gradient.row4;
    const head = padded(role === "value" ? problem.shape.valueDim : problem.shape.headDim);
    return {
      span: gradient.span,
      first: firsts[role]!,
      strides: { batch: length * position, head, position, feature: 1 },
    };
  };
  return backwardOn(call, planned, { dQuery: target("query"), dKey: target("key"), dValue: target("value") });
}

/** The gradients of a group's weights and of its input. */
function groupBack(
  call: Call,
  layer: LayerThere,
  saved: SavedCall,
  problem: LayerBackwardProblem,
  group: Group,
  results: WeightResults,
): Deliver<PlacedLayerGradients> {
  const { roles, input, gradient, length, firsts } = group;
  const weights = once(() => weightGradient(call, input, gradient));
  const biases = once(() => columnSums(call, gradient));
  for (const role of roles) {
    results.storeWeight(role, layer.parts, weights, firsts[role]);
    results.storeBias(role, layer.parts, biases, firsts[role]);
  }
  const name = roles.includes("query") ? "dInput" : roles.includes("key") ? "dContext" : "dValueContext";
  const table = roles.includes("query") ? results.places?.positionTable : undefined;
  if (!problem.wanted[name] && table === undefined) return () => ({});
  const { width } = layer.parts.roles[roles[0]!].inputs;
  const bytes = 4 * input.rows * width;
  const location = problem.wanted[name] ? problem.location : "cpu";
  const dx = call.resultRoom(bytes, location);
  const { batch, position, feature } = stridesOf(layer.problem.layout, 1, length, width);
  const product = { rows: input.rows, length, first4: 0, columns: width, batch, position, feature };
  project(call, gradient.span, stacked(roles.map((role) => layer.backs.roles[role])), product, dx);
  if (table !== undefined) {
    const extents = results.places!.shapes[table] as readonly [number, number];
    gatherRows(call, dx, product, saved.added!, results.span(table), extents);
  }
  if (!problem.wanted[name]) return () => ({});
  const span = location === "cpu" ? { ...dx, bytes } : dx;
  const deliver = hand(call, span, problem.shapes[name]!, "float32", location);
  return (mapped) => ({ [name]: deliver(mapped) });
}

/** Brings the gradients of finished queries and keys back to those of the projected ones; also the gains' gradients. */
function endsBack(call: Call, layer: LayerThere, groups: readonly Group[], results: WeightResults): void {
  const { ends, parts, problem, angles } = layer;
  if (!ends) return;
  const { headDim } = problem.shape;
  const heads = (["query", "key"] as const).map((role) => {
    const { input, gradient, firsts } = groups.find((group) => group.roles.includes(role))!;
    const { count } = parts.roles[role].outputs;
    const place = { role, rows: gradient.rows, row: 4 * gradient.row4, first: firsts[role]!, count };
    return { ...place, span: gradient.span, input };
  });
  if (ends.norm === "none") {
    for (const rows of heads) headsBack(call, ends, rows, headDim, angles, undefined);
    return;
  }
  const gains = call.table(gainsOf(problem));
  const names = { query: results.places?.queryGain, key: results.places?.keyGain };
  const isShared = names.query !== undefined && names.query === names.key;
  const counts = heads.map(({ rows, count }) => rows * count);
  const room = (count: number) => roomFor(call, "the gradient of the gains", 4 * count * padded(headDim));
  const shared = isShared ? room(counts[0]! + counts[1]!) : undefined;
  const store = (name: string, span: Span, rows: number) =>
    storeGradient(
      call,
      columnSums(call, { span, rows, row4: padded(headDim) / 4 }),
      0,
      one(1),
      one(headDim),
      results.span(name),
      ROW,
    );
  heads.forEach((rows, n) => {
    const terms = shared ?? room(counts[n]!);
    const firstTerm = shared && n === 1 ? counts[0]! * padded(headDim) : 0;
    const before = projectedAgain(call, layer, rows.role, rows.input);
    headsBack(call, ends, rows, headDim, angles, { ...before, gains, terms, firstTerm });
    const name = names[rows.role];
    if (name !== undefined && !shared) store(name, terms, counts[n]!);
  });
  if (shared) store(names.query!, shared, counts[0]! + counts[1]!);
}

/** The heads of a role before their norm: they are projected again, because the forward call did not keep them. */
function projectedAgain(call: Call, { sections }: LayerThere, role: Role, { span, rows }: Matrix4) {
  const { matrix, first4, columns4 } = sections.roles[role];
  const row = 4 * columns4;
  const x = roomFor(call, `the ${role}'s heads`, 4 * rows * row);
  project(call, span, matrix, { rows, length: rows, first4, columns: row, batch: 0, position: row, feature: 1 }, x);
  return { x, row };
}

function roomFor(call: Call, name: string, bytes: number): Span {
  checkBytes(call.operation, name, bytes, call.core.device.limits);
  return call.room(bytes);
}

/** The gradient of the table whose rows were added to tokens; dx has these strides. */
function gatherRows(
  call: Call,
  dx: Span,
  { length, batch, position, feature }: Pick<Product, "length" | "batch" | "position" | "feature">,
  added: Int32Array,
  table: Span,
  [rows, width]: readonly [number, number],
): void {
  const count = rows * width;
  const workgroups = divideUp(count, FLAT_WORKGROUP);
  call.dispatch(flatKernel("gather_rows"), workgroups, {
    0: call.numbers([batch, position, feature, length, width, count], workgroups),
    1: dx,
    2: call.table(tokensOfRows(added, rows)),
    3: table,
  });
}

/** Where the list of each row's tokens begins, and where the last one ends; then the tokens. */
export function tokensOfRows(added: Int32Array, rows: number): Uint32Array {
  const counts = new Uint32Array(rows);
  for (const row of added) if (row >= 0) counts[row]! += 1;
  const total = counts.reduce((sum, count) => sum + count, 0);
  const lists = new Uint32Array(rows + 1 + total);
  let next = rows + 1;
  for (let row = 0; row <= rows; ++row) {
    lists[row] = next;
    next += counts[row] ?? 0;
  }
  const ends = lists.slice(0, rows);
  added.forEach((row, token) => {
    if (row >= 0) lists[ends[row]!++] = token;
  });
  return lists;
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
