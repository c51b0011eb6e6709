import type { AttentionSettings, Broadcast } from "../../attention/attentionSettings.js";
import { DeviceLostError, DisposedError } from "../../base/errors.js";
import type { FormulaData } from "../../formula/graph.js";
import type { EngineSaved } from "../../layer/engineSaved.js";
import type { Watched } from "../../read/watched.js";
import type { PlacedTensor } from "../../tensor/tensor.js";
import type { Call, Span } from "../call/call.js";
import type { GpuCore } from "../call/core.js";
import { insideTensor } from "../call/span.js";
import type { InPlace } from "../plan/attentionParams.js";
import type { PlannedAttention } from "../plan/plannedAttention.js";
import type { OfRoles } from "./roles.js";

/** Positions of queries and keys, [B, S]. */
export interface Positions {
  readonly query: Float64Array;
  readonly key: Float64Array;
  /** With sections: all planes of both; `query` and `key` are the first ones. */
  readonly planes?: { readonly query: readonly Float64Array[]; readonly key: readonly Float64Array[] } | undefined;
}

/** What the gradient of a layer's call needs. Its arrays lie on the GPU, in the saved call's own memory. */
export interface SavedCall {
  /** The attention inside of the layer. */
  readonly attention: Pick<PlannedAttention, "sequences"> & {
    readonly problem: Omit<PlannedAttention["problem"], "wanted" | "output" | keyof Watched | "location">;
    readonly inPlace: InPlace;
    readonly output: Span;
    readonly lse: Span;
  };
  /** What was projected: rows of float32 in whole vec4. Roles of one input have the same span. */
  readonly inputs: OfRoles<Span>;
  readonly contextLength: number;
  readonly positions: Positions;
  /** For each token the row of the learned table that was added to it, or −1. */
  readonly added: Int32Array | undefined;
}

/** A saved call. It holds scratch buffers of its call until it is released. */
export class GpuSaved implements EngineSaved {
  readonly bytes: number;
  readonly #core: GpuCore;
  readonly #buffers: readonly GPUBuffer[];
  #saved: SavedCall | undefined;

  /** @param spans - Scratch of the call that the gradient needs. */
  constructor(call: Call, saved: SavedCall, spans: readonly Span[]) {
    this.#core = call.core;
    this.#saved = saved;
    this.#buffers = [...new Set(spans.map((span) => call.keep(span)))];
    this.bytes = this.#buffers.reduce((sum, { size }) => sum + size, 0);
  }

  /** What was saved, for a call. */
  in({ core, operation }: Call): SavedCall {
    if (!this.#saved) throw new DisposedError(`${operation}: saved was disposed`);
    if (core.device.gpuDevice !== this.#core.device.gpuDevice)
      throw new DeviceLostError(`${operation}: saved was lost with its GPU device`, {
        hint: "Call forward again with `save: true`.",
      });
    return this.#saved;
  }

  release(): void {
    if (!this.#saved) return;
    this.#saved = undefined;
    for (const buffer of this.#buffers) this.#core.buffers.giveBack(buffer);
  }
}

/** The settings of a call without the caller's arrays: mask and bias lie in these spans. */
export function ownSettings(
  settings: AttentionSettings,
  { mask, bias }: { readonly mask: Span | undefined; readonly bias: Span | undefined },
): AttentionSettings {
  return {
    ...settings,
    mask: settings.mask && { ...settings.mask, tensor: inside("mask", settings.mask, mask!) },
    bias: settings.bias && { ...settings.bias, tensor: inside("bias", settings.bias, bias!) },
    score: settings.score && withOwnTables(settings.score),
    visible: settings.visible && withOwnTables(settings.visible),
  };
}

function inside<T extends PlacedTensor>(name: string, { tensor }: Broadcast<T>, span: Span): T {
  const { gpu } = insideTensor(name, span);
  return { gpu, shape: tensor.shape, dtype: tensor.dtype } as unknown as T;
}

function withOwnTables(formula: FormulaData): FormulaData {
  const values = formula.values.map((value) =>
    typeof value === "number" ? value : { ...value, data: value.data.slice() },
  );
  return { ...formula, values };
}
