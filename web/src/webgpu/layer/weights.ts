import type { LayerProblem } from "../../layer/layerProblem.js";
import type { Call, Span } from "../call/call.js";
import type { GpuCore } from "../call/core.js";
import { gainsOf, type HeadEnds } from "./headEnds.js";
import {
  backOf,
  fillMatrix,
  matrixBytes,
  mostBytes,
  one,
  placeBack,
  placeMatrix,
  placePieces,
  type Part,
  type Piece,
  type Section,
} from "./matrix.js";
import { ROLES, runsOf, type OfRoles, type Role } from "./roles.js";

/** The projections of a layer, with their weights. */
export interface Parts {
  readonly roles: OfRoles<Part>;
  readonly output: Part | undefined;
}

/** Where the projections lie in matrices. */
export interface Sections {
  readonly roles: OfRoles<Section>;
  readonly output: Section | undefined;
}

/** The weights and tables of a layer on one device, in buffers of their own. */
export class GpuWeights {
  readonly device: GPUDevice;
  readonly sections: Sections;
  /** The table of learned positions. */
  readonly learned: Span | undefined;
  /** The gains of a norm that is not done in the projection's store. */
  readonly gains: Span | undefined;
  readonly #core: GpuCore;
  readonly #ends: HeadEnds | undefined;
  readonly #buffers: GPUBuffer[] = [];
  #backs: Sections | undefined;

  /** Makes the buffers, and uploads everything as part of a call. */
  constructor(call: Call, problem: LayerProblem, ends: HeadEnds | undefined) {
    const { position } = problem;
    this.#core = call.core;
    this.device = call.core.device.gpuDevice;
    this.#ends = ends;
    call.onFailure(() => this.free());
    const { roles, output } = partsOf(problem, ends);
    const upload = uploader(call);
    const tile4 = ends?.tile4 ?? 16;
    const bytes = (run: readonly Role[]) => run.reduce((sum, role) => sum + matrixBytes(roles[role], tile4), 0);
    const groups = runsOf(
      ROLES,
      (run, role) => haveOneInput(roles, run[0]!, role) && bytes([...run, role]) <= mostBytes(call),
    );
    const place = (parts: readonly Part[]) => placeMatrix(call, this.#keep, upload, parts, tile4);
    this.sections = {
      roles: sectionsOf(groups, roles, place),
      output: output && placeMatrix(call, this.#keep, upload, [output], 16)[0],
    };
    this.learned = position.kind === "learned" ? this.#keep(position.table.data.byteLength) : undefined;
    this.gains = ends?.inStore === false ? this.#keep(gainsOf(problem).byteLength) : undefined;
    this.#writeTables(call, problem);
  }

  get bytes(): number {
    return this.#buffers.reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * The projections the other way round: from the gradients of queries, keys and values to those of their inputs. The
   * first gradient makes them.
   */
  backs(call: Call, problem: LayerProblem): Sections {
    if (this.#backs) return this.#backs;
    const { roles, output } = partsOf(problem, this.#ends);
    const upload = uploader(call);
    const groups = runsOf(ROLES, (run, role) => haveOneInput(roles, run[0]!, role));
    const place = (parts: readonly Part[]) => placeBack(call, this.#keep, upload, parts);
    this.#backs = { roles: sectionsOf(groups, roles, place), output: output && place([output])[0] };
    return this.#backs;
  }

  /** Writes other weights of the same dtypes into the same buffers. */
  fill(call: Call, problem: LayerProblem): void {
    const upload = uploader(call);
    const { roles, output } = partsOf(problem, this.#ends);
    const fill = (sections: Sections, form: (part: Part) => Part) => {
      const runs = runsOf(ROLES, (run, role) => sections.roles[run[0]!].matrix === sections.roles[role].matrix);
      for (const run of runs) {
        const parts = run.map((role) => form(roles[role]));
        const places = run.map((role) => sections.roles[role]);
        fillMatrix(call, upload, parts, places);
      }
      if (output) fillMatrix(call, upload, [form(output)], [sections.output!]);
    };
    fill(this.sections, (part) => part);
    if (this.#backs) fill(this.#backs, backOf);
    this.#writeTables(call, problem);
  }

  free(): void {
    for (const buffer of this.#buffers.splice(0)) this.#core.buffers.free(buffer);
  }

  #writeTables(call: Call, problem: LayerProblem): void {
    if (this.learned && problem.position.kind === "learned") call.write(this.learned, 0, problem.position.table.data);
    if (this.gains) call.write(this.gains, 0, gainsOf(problem));
  }

  /** Makes a buffer that outlives the call. */
  readonly #keep = (bytes: number): Span => {
    const buffer = this.#core.buffers.make(bytes);
    this.#buffers.push(buffer);
    return { buffer, offset: 0, bytes: buffer.size };
  };
}

export function partsOf(
  { shape, weights, weightDtype: dtype, qkNorm }: LayerProblem,
  ends: HeadEnds | undefined,
): Parts {
  const { inputDim, keyInputDim, valueInputDim, outputDim, numHeads, numKvHeads, headDim, valueHeadDim } = shape;
  const splitPairs = ends?.splitPairs ?? 0;
  const query = {
    linear: weights.query,
    inputs: one(inputDim),
    outputs: { count: numHeads, width: headDim },
    gain: qkNorm?.queryGain,
    splitPairs,
    dtype,
  };
  const key = {
    linear: weights.key,
    inputs: one(keyInputDim),
    outputs: { count: numKvHeads, width: headDim },
    gain: qkNorm?.keyGain,
    splitPairs,
    dtype,
  };
  const value = {
    linear: weights.value,
    inputs: one(valueInputDim),
    outputs: { count: numKvHeads, width: valueHeadDim },
    splitPairs: 0,
    dtype,
  };
  const output = weights.output && {
    linear: weights.output,
    inputs: { count: numHeads, width: valueHeadDim },
    outputs: one(outputDim),
    splitPairs: 0,
    dtype,
  };
  return { roles: { query, key, value }, output };
}

/** The dtypes of the weights, which decide those of the matrices. */
export function dtypesOf({ weights }: LayerProblem): string {
  return Object.values(weights)
    .map((linear) => linear?.weight.dtype)
    .join();
}

function haveOneInput(roles: OfRoles<Part>, a: Role, b: Role): boolean {
  return roles[a].inputs.width === roles[b].inputs.width;
}

/** Places every group of roles in a matrix. */
function sectionsOf(
  groups: readonly (readonly Role[])[],
  parts: OfRoles<Part>,
  place: (parts: readonly Part[]) => readonly Section[],
): OfRoles<Section> {
  const entries = groups.flatMap((roles) => {
    const sections = place(roles.map((role) => parts[role]));
    return roles.map((role, n) => [role, sections[n]!] as const);
  });
  return Object.fromEntries(entries) as Record<Role, Section>;
}

/** Uploads weights, each array once: roles may share an array of packed weights. */
function uploader(call: Call): (part: Part) => readonly Piece[] {
  const uploaded = new Map<object, readonly Piece[]>();
  return ({ linear: { weight } }) => {
    const pieces = uploaded.get(weight.data!) ?? placePieces(call, weight);
    uploaded.set(weight.data!, pieces);
    return pieces;
  };
}
