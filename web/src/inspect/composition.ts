import { ShapeError } from "../base/errors.js";
import type { Floats } from "../tensor/plainTensor.js";
import { overlap, transposed, type Circuit } from "./circuit.js";
import { headCircuits, type AttentionWeights, type HeadCircuits } from "./headCircuits.js";

/** How much heads read what heads of an earlier layer write. Each is `[earlier heads, later heads]`, from 0 to 1. */
export interface Composition {
  /** With their queries. */
  readonly query: Floats;
  /** With their keys. */
  readonly key: Floats;
  /** With their values. */
  readonly value: Floats;
}

/**
 * The composition of heads of two layers (Elhage et al. 2021, “A Mathematical Framework for Transformer Circuits”), from
 * their weights alone. An earlier head writes x·OV into the residual stream, with OV = Wv·Wo; a later head compares
 * x·QK·xᵀ, with QK = Wq·Wkᵀ. With the Frobenius norm ‖·‖ and the circuits of both heads:
 *
 *     query = ‖OV₁·QK₂‖ / (‖OV₁‖·‖QK₂‖)
 *     key   = ‖OV₁·QK₂ᵀ‖ / (‖OV₁‖·‖QK₂‖)
 *     value = ‖OV₁·OV₂‖ / (‖OV₁‖·‖OV₂‖)
 *
 * Heads that have nothing to do with each other have about 1/√width. A head whose circuit is 0 has 0. NaN in the weights
 * of a head shows in its numbers. The norms come from products of headDim × headDim; a score below 10⁻⁷ is rounding.
 *
 * Biases, positions and norms between the layers play no part: multiply the gains of a norm into the rows of the later
 * layer's Wq, Wk and Wv first.
 *
 * @param earlier - Weights of the layer that writes.
 * @param later - Weights of the layer that reads. Its width must be the earlier one's.
 */
export function composition(earlier: AttentionWeights, later: AttentionWeights): Composition {
  const writers = headCircuits("composition", "earlier", earlier);
  const readers = headCircuits("composition", "later", later);
  if (writers.width !== readers.width)
    throw new ShapeError(
      `composition: both layers must have the same width, got ${writers.width} (earlier) and ${readers.width} (later)`,
    );
  const scores = (circuit: (reader: HeadCircuits) => Circuit): Floats => ({
    data: Float32Array.from(
      writers.heads.flatMap(({ ov }) => readers.heads.map((reader) => overlap(ov, circuit(reader)))),
    ),
    shape: [writers.heads.length, readers.heads.length],
  });
  return { query: scores(({ qk }) => qk), key: scores(({ qk }) => transposed(qk)), value: scores(({ ov }) => ov) };
}
