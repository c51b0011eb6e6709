import type { ForwardProblem } from "../../layer/forwardProblem.js";
import type { PlacedFloats } from "../../tensor/tensor.js";
import type { GpuEngineCache } from "../cache/cache.js";
import { padded } from "../cache/cacheStore.js";
import type { Rows } from "../cache/storeRows.js";
import type { Call, Span } from "../call/call.js";
import { checkBytes } from "../plan/limits.js";
import { finishOf, turnHeads, type Angles, type HeadColumns } from "./headEnds.js";
import type { LayerOnDevice } from "./layerOnDevice.js";
import { mostBytes } from "./matrix.js";
import { project } from "./projection.js";
import { ROLES, runsOf, type Role } from "./roles.js";
import type { Positions } from "./saved.js";
import { sinusoidalRows, tokenRows, type Added } from "./tokenRows.js";
import { turningAngles } from "./turningAngles.js";

/** What a call has projected: queries, and keys and values if it needs them. */
export interface Heads {
  readonly heads: Partial<Record<Role, Rows>>;
  /** The rows that were projected. */
  readonly inputs: Partial<Record<Role, Span>>;
  /** The rows of the table that were added to x, if the table is learned. */
  readonly added: Int32Array | undefined;
}

/** Rows that a projection reads. */
interface Input {
  readonly tensor: PlacedFloats;
  readonly length: number;
  readonly width: number;
}

/** Projects queries, and keys and values if they are needed. Those that come from the same rows share a product. */
export function projectHeads(call: Call, layer: LayerOnDevice, problem: ForwardProblem, positions: Positions): Heads {
  const { x, shape, attendOnly } = problem;
  const inputs = inputsOf(layer, problem);
  const cache = (problem.cache as GpuEngineCache | undefined)?.cache;
  const angles = turningAngles(call, layer, positions, cache?.form.rotary);
  const added = addedTo(call, layer, positions.query);
  const placedRows = new Map<PlacedFloats, Span>();
  const rowsOf = (role: Role): Span => {
    const { tensor, length, width } = inputs[role];
    const extents = [shape.batchSize, length, width] as const;
    const rows =
      placedRows.get(tensor) ??
      tokenRows(call, tensor, layer.problem.layout, extents, tensor === x ? added : undefined, problem.save);
    placedRows.set(tensor, rows);
    return rows;
  };
  const groups = groupsOf(call, layer, inputs, attendOnly ? ["query"] : ROLES, shape.batchSize);
  const heads = groups.map((roles) =>
    product(call, layer, rowsOf(roles[0]!), roles, shape.batchSize, inputs[roles[0]!].length, angles),
  );
  return {
    heads: Object.assign({}, ...heads) as Heads["heads"],
    inputs: Object.fromEntries(groups.flat().map((role) => [role, rowsOf(role)])),
    added: layer.weights.learned && added?.rows,
  };
}

/** What each projection reads: `key` is x if it is absent, and `value` is `key`. */
function inputsOf({ problem: { shape } }: LayerOnDevice, problem: ForwardProblem): Readonly<Record<Role, Input>> {
  const { x, key = x, value = key, contextLength: length } = problem;
  return {
    query: { tensor: x, length: problem.shape.queryLength, width: shape.inputDim },
    key: { tensor: key, length, width: shape.keyInputDim },
    value: { tensor: value, length, width: shape.valueInputDim },
  };
}

/** Neighbouring roles that one product computes: they read the same rows, and their columns fit one buffer. */
function groupsOf(
  call: Call,
  { weights }: LayerOnDevice,
  inputs: Readonly<Record<Role, Input>>,
  roles: readonly Role[],
  batchSize: number,
): Role[][] {
  const { roles: sections } = weights.sections;
  const together = (a: Role, b: Role) =>
    inputs[a].tensor === inputs[b].tensor && sections[a].matrix === sections[b].matrix;
  const rowBytes = (group: readonly Role[]) => 16 * group.reduce((sum, role) => sum + sections[role].columns4, 0);
  const fits = (group: readonly Role[]) => rowBytes(group) * batchSize * inputs[group[0]!].length <= mostBytes(call);
  return runsOf(roles, (group, role) => together(group[0]!, role) && fits([...group, role]));
}

/** One product for the columns of some roles. Its rows hold the heads of all of them. */
function product(
  call: Call,
  { problem, ends, weights }: LayerOnDevice,
  x: Span,
  roles: readonly Role[],
  batchSize: number,
  length: number,
  angles: Angles,
): Partial<Record<Role, Rows>> {
  const { numHeads, numKvHeads, headDim, valueHeadDim } = problem.shape;
  const { roles: sections } = weights.sections;
  const { matrix, first4 } = sections[roles[0]!];
  const row4 = roles.reduce((sum, role) => sum + sections[role].columns4, 0);
  const rows = batchSize * length;
  const bytes = 16 * row4 * Math.max(rows, 1);
  checkBytes(call.operation, roles.join(" and "), bytes, call.core.device.limits);
  const target = call.room(bytes);
  const columns: HeadColumns = {
    queryHeads: roles.includes("query") ? numHeads : 0,
    keyHeads: roles.includes("key") ? numKvHeads : 0,
    keyFirst4: sections.key.first4,
  };
  const position = 4 * row4;
  const batch = length * position;
  const form = { rows, length, first4, columns: position, batch, position, feature: 1 };
  const finish = ends?.inStore ? finishOf(ends, columns, headDim, angles) : undefined;
  project(call, x, matrix, form, target, { finish });
  if (ends && !ends.inStore) {
    const inRow = { ...columns, keyFirst4: columns.keyFirst4 - first4 };
    turnHeads(call, ends, target, weights.gains!, inRow, headDim, angles, rows, row4);
  }
  const headsOf = (role: Role): Rows => {
    const offset = 16 * (sections[role].first4 - first4);
    const head = padded(role === "value" ? valueHeadDim : headDim);
    return {
      span: { buffer: target.buffer, offset: target.offset + offset, bytes: target.bytes - offset },
      dtype: "float32",
      strides: { batch, head, position, feature: 1 },
    };
  };
  return Object.fromEntries(roles.map((role) => [role, headsOf(role)]));
}

/** What is added to the tokens of x, which stand at these positions. */
function addedTo(
  call: Call,
  { problem: { position, shape }, weights, sinusoids }: LayerOnDevice,
  positions: Float64Array,
): Added | undefined {
  if (position.kind === "learned") {
    const count = position.table.shape[0]!;
    // outside of the table there is only padding
    return { table: weights.learned!, rows: Int32Array.from(positions, (at) => (at >= 0 && at < count ? at : -1)) };
  }
  if (position.kind !== "sinusoidal") return undefined;
  const table = sinusoids.place(call, positions, () => sinusoidalRows(positions, shape.inputDim, position));
  return { table, rows: Int32Array.from(positions, (_, n) => n) };
}
