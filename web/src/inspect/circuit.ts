import { innerProduct, transposedProduct, type TallMatrix } from "./tallMatrix.js";

/** A matrix [width, width] as a product left·rightᵀ of two matrices of a head, each [width, headDim]. */
export interface Circuit {
  readonly left: TallMatrix;
  readonly right: TallMatrix;
  /** leftᵀ·left */
  readonly leftGram: TallMatrix;
  /** rightᵀ·right */
  readonly rightGram: TallMatrix;
}

/** left·rightᵀ */
export function circuitOf(left: TallMatrix, right: TallMatrix): Circuit {
  return { left, right, leftGram: transposedProduct(left, left), rightGram: transposedProduct(right, right) };
}

/** right·leftᵀ */
export function transposed({ left, right, leftGram, rightGram }: Circuit): Circuit {
  return { left: right, right: left, leftGram: rightGram, rightGram: leftGram };
}

/** ‖A·B‖ / (‖A‖·‖B‖) with the Frobenius norm; 0 if A or B is 0. */
export function overlap(a: Circuit, b: Circuit): number {
  const norms = squaredNorm(a.leftGram, a.rightGram) * squaredNorm(b.leftGram, b.rightGram);
  const between = transposedProduct(a.right, b.left); // A·B = a.left · between · b.rightᵀ
  const leftGram = transposedProduct(between, transposedProduct(a.leftGram, between)); // of a.left · between
  return norms === 0 ? 0 : Math.sqrt(squaredNorm(leftGram, b.rightGram) / norms);
}

/** ‖X·Yᵀ‖² = trace(XᵀX · YᵀY) */
function squaredNorm(leftGram: TallMatrix, rightGram: TallMatrix): number {
  return Math.max(0, innerProduct(leftGram, rightGram)); // rounding may leave a little less than 0
}
