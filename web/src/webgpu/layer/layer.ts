import type { PlacedResult } from "../../attention/attentionResult.js";
import { DisposedError, OptionError, UnsupportedError } from "../../base/errors.js";
import type { LayerBackwardProblem, PlacedLayerGradients } from "../../layer/backwardProblem.js";
import type { EngineLayer } from "../../layer/engineLayer.js";
import type { ForwardProblem } from "../../layer/forwardProblem.js";
import { withInt8Weights } from "../../layer/int8Weights.js";
import type { LayerProblem } from "../../layer/layerProblem.js";
import { updatedProblem, type LayerUpdate } from "../../layer/layerUpdate.js";
import { withOwnWeights } from "../../layer/ownWeights.js";
import type { PlacedLayerViews } from "../../layer/views.js";
import type { NumberMap } from "../../step/stepProblem.js";
import type { PlacedTensor } from "../../tensor/tensor.js";
import { attendOn, deliverAttended, type Attended } from "../attention/attention.js";
import { rowSection, SECTION } from "../attention/attentionArrays.js";
import { outputRoom, writeOutput } from "../attention/output.js";
import { patchAttended } from "../attention/patchAttended.js";
import { refuseWithWeights } from "../attention/patchedWeights.js";
import type { GpuEngineCache } from "../cache/cache.js";
import type { Call, Deliver, Span } from "../call/call.js";
import { IterableWeakSet } from "../device/iterableWeakSet.js";
import { narrowStep } from "../plan/flatKernels.js";
import { plannedAttention, type PlannedAttention } from "../plan/plannedAttention.js";
import { resolveSequences, type Sequence } from "../plan/sequences.js";
import { stridesOf } from "../plan/strides.js";
import { formDuring, gainOf } from "./gain.js";
import { headEnds, type HeadEnds } from "./headEnds.js";
import { attentionInside, type Inside } from "./inside.js";
import { KeptTable } from "./keptTable.js";
import { recordLayerBackward } from "./layerBackward.js";
import type { LayerOnDevice } from "./layerOnDevice.js";
import type { Section } from "./matrix.js";
import { project } from "./projection.js";
import { GpuSaved, ownSettings, type SavedCall } from "./saved.js";
import { turningAngles } from "./turningAngles.js";
import { viewInside } from "./views.js";
import { dtypesOf, GpuWeights, partsOf } from "./weights.js";

/** A GpuLayer as the public Layer holds it. */
export interface GpuEngineLayer extends EngineLayer {
  readonly layer: GpuLayer;
}

/** A layer whose weights lie on the GPU. All intermediate results stay there. */
export class GpuLayer {
  #problem: LayerProblem;
  readonly #ends: HeadEnds | undefined;
  readonly #angles = new KeptTable();
  readonly #sinusoids = new KeptTable();
  /** If a new device replaces the one that was lost, the weights are uploaded again. */
  #weights: GpuWeights | undefined;
  /** Saved calls that were not released yet. */
  readonly #saved = new IterableWeakSet<GpuSaved>();
  #released = false;

  constructor(problem: LayerProblem) {
    this.#problem = keptProblem(problem);
    this.#ends = headEnds(problem);
  }

  get bytes(): number {
    return this.#weights?.bytes ?? 0;
  }

  /** Whether `forward` can compute a map of its output: rows side by side, which a product stores. */
  get canMap(): boolean {
    const { layout, shape } = this.#problem;
    return layout === "BSE" && shape.outputProjection;
  }

  /** Uploads the weights to the device, as part of the call that needs them. */
  upload(call: Call): GpuWeights {
    if (this.#weights?.device === call.core.device.gpuDevice) return this.#weights;
    call.onFailure(() => this.#free());
    return (this.#weights = new GpuWeights(call, this.#problem, this.#ends));
  }

  /** @param map - What is made of each number of the output, if `canMap`. */
  forward(
    call: Call,
    problem: ForwardProblem,
    map?: NumberMap,
  ): Deliver<PlacedResult & PlacedLayerViews & { readonly saved?: GpuSaved }> {
    this.#assertThere(call);
    refuseWithWeights(problem);
    const cache = (problem.cache as GpuEngineCache | undefined)?.cache;
    const before = cache?.appended;
    const after = before?.map((total, b) => total + gainOf(problem, b));
    const sequences =
      cache && before && after
        ? cache.sequences(problem, { appended: after }, formDuring(problem, cache.form, before))
        : resolveSequences(problem.shape, problem.settings, problem.ragged);
    this.#checkPositions(problem, sequences);
    const { position } = this.#problem;
    if (cache?.form.rotary && position.kind === "rotary" && !cache.turnsLike(position.angles))
      throw new OptionError(
        `${problem.operation}: a ring that turns the layer's keys by their places must have the layer's rotary options`,
      );
    const weights = this.upload(call);
    const { output } = weights.sections;
    const inside = attentionInside(call, this.#onDevice(weights), problem, sequences, cache);
    const planned = plannedAttention(inside.attention, sequences, call.core.device.capabilities, inside.inPlace);
    const { probs } = problem.patches ?? {};
    const attended = attendOn(call, planned, output || !problem.wanted.output ? "cpu" : problem.location, probs);
    const headOutputs = patchAttended(call, planned, attended, problem.patches, problem.shape.valueDim);
    const views = viewInside(call, problem, { ...inside.heads, headOutputs }, output, this.#problem.shape.outputDim);
    const saved = problem.save ? this.#savedCall(call, problem, planned, inside, attended) : undefined;
    const deliver = output
      ? this.#projected(call, problem, output, attended, map)
      : this.#asAttended(call, problem, planned, attended);
    return (mapped) => {
      inside.growth?.commit();
      const result = { ...deliver(mapped), ...views(mapped) };
      return saved ? { ...result, saved: saved() } : result;
    };
  }

  backward(call: Call, problem: LayerBackwardProblem): Deliver<PlacedLayerGradients> {
    this.#assertThere(call);
    const saved = (problem.saved as GpuSaved).in(call);
    const weights = this.upload(call);
    call.onFailure(() => this.#free()); // the first gradient makes buffers
    const layer = {
      problem: this.#problem,
      ends: this.#ends,
      parts: partsOf(this.#problem, this.#ends),
      sections: weights.sections,
      backs: weights.backs(call, this.#problem),
      angles: turningAngles(call, this.#onDevice(weights), saved.positions),
    };
    return recordLayerBackward(call, layer, saved, problem);
  }

  /** Replaces the weights. They stay in the same buffers, so nothing is compiled and no bind group is made. */
  update(call: Call, update: LayerUpdate): Deliver<void> {
    this.#assertThere(call);
    const before = this.#problem;
    call.onFailure(() => {
      this.#problem = before;
      this.#free();
    });
    this.#problem = keptProblem(updatedProblem(before, update));
    if (dtypesOf(before) !== dtypesOf(this.#problem)) this.#free();
    if (this.#weights?.device === call.core.device.gpuDevice) this.#weights.fill(call, this.#problem);
    else this.upload(call);
    return () => undefined;
  }

  release(): void {
    this.#released = true;
    for (const saved of this.#saved.values()) saved.release();
    this.#free();
  }

  #onDevice(weights: GpuWeights): LayerOnDevice {
    return {
      problem: this.#problem,
      ends: this.#ends,
      weights,
      angles: this.#angles,
      sinusoids: this.#sinusoids,
    };
  }

  #assertThere({ operation }: Call): void {
    if (this.#released) throw new DisposedError(`${operation}: the layer was disposed`);
  }

  #free(): void {
    this.#weights?.free();
    this.#weights = undefined;
    this.#angles.free();
    this.#sinusoids.free();
  }

  /** The output projection of an attention pass. */
  #projected(
    call: Call,
    { shape, output, wanted, location }: ForwardProblem,
    { matrix }: Section,
    { wide, collect }: Attended,
    map: NumberMap | undefined,
  ): Deliver<PlacedResult> {
    if (!wanted.output || !wide) return collect as Deliver<PlacedResult>;
    const { batchSize, queryLength: length } = shape;
    const { outputDim: columns } = this.#problem.shape;
    const rows = batchSize * length;
    const narrow = narrowStep(output.dtype, rows * columns);
    const y = outputRoom(call, output, rows * columns, narrow, location);
    const { batch, position, feature } = stridesOf(this.#problem.layout, 1, length, columns);
    project(call, wide, matrix, { rows, length, first4: 0, columns, batch, position, feature }, y, { map });
    const read = writeOutput(call, output, y, rows * columns, narrow, location);
    return (result) => ({ ...collect(result), output: read(result) });
  }

  /** The results of an attention pass without output projection. */
  #asAttended(
    call: Call,
    { wanted }: ForwardProblem,
    planned: PlannedAttention,
    attended: Attended,
  ): Deliver<PlacedResult> {
    if (wanted.output) return deliverAttended(call, planned, attended);
    return attended.collect as Deliver<PlacedResult>;
  }

  /** What the gradient of the call needs. The returned function hands it over when the call has succeeded. */
  #savedCall(
    call: Call,
    { operation, contextLength }: ForwardProblem,
    planned: PlannedAttention,
    { inPlace, spans: heads, inputs, positions, added }: Inside,
    { wide, arrays }: Attended,
  ): () => GpuSaved {
    if (call.recording) throw new UnsupportedError(`${operation}: save must be false for a recorded call`);
    const { problem, sequences } = planned;
    const { mask, bias } = problem.settings;
    const own = (tensor: PlacedTensor | undefined, span: Span | undefined) =>
      tensor?.gpu ? copied(call, call.source(tensor.gpu)) : span;
    const options = { mask: own(mask?.tensor, arrays.inputs[4]), bias: own(bias?.tensor, arrays.inputs[5]) };
    // without output projection the output may be the caller's
    const output = this.#weights!.sections.output ? wide! : copiedOut(call, wide!);
    const settings = ownSettings(problem.settings, options);
    const saved: SavedCall = {
      attention: {
        problem: { ...problem, settings },
        sequences,
        inPlace,
        output,
        lse: rowSection(arrays, planned, SECTION.lse),
      },
      inputs,
      contextLength,
      positions,
      added,
    };
    const spans = [...heads, ...Object.values(inputs), output, arrays.rows, options.mask, options.bias];
    return () => {
      const made = new GpuSaved(
        call,
        saved,
        spans.filter((span) => span !== undefined),
      );
      this.#saved.add(made);
      return made;
    };
  }

  /** Given positions were checked when they were read. */
  #checkPositions({ operation, positions }: ForwardProblem, sequences: readonly Sequence[]): void {
    const { position } = this.#problem;
    if (position.kind !== "learned" || positions) return;
    const rows = position.table.shape[0]!;
    sequences.forEach(({ offset, queryLength }, n) => {
      if (queryLength > 0 && (offset < 0 || offset + queryLength > rows))
        throw new OptionError(
          `${operation}: the position table has rows 0..${rows - 1}, sequence ${n} stands at ` +
            `${offset}..${offset + queryLength - 1}`,
        );
    });
  }
}

/** The problem with copies of its weights, in int8 if the layer keeps them so. */
function keptProblem(problem: LayerProblem): LayerProblem {
  return withOwnWeights(problem.weightDtype === "int8" ? withInt8Weights(problem) : problem);
}

/** A copy of the caller's bytes, made before the kernels run. */
function copied(call: Call, source: Span): Span {
  const copy = call.room(source.bytes);
  call.copyIn(source, copy);
  return copy;
}

/** A copy of a result, made after the kernels have run. */
function copiedOut(call: Call, source: Span): Span {
  const copy = call.room(source.bytes);
  call.copyOut(source, copy);
  return copy;
}
