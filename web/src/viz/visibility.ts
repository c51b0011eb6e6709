import { describe } from "../base/describe.js";
import { ShapeError } from "../base/errors.js";
import type { Tensor } from "../tensor/tensor.js";
import { padded, type AttentionSource } from "./source.js";

/** Whether a query may not attend to a key. */
export type HiddenRule = (query: number, key: number, head: number) => boolean;

export interface Visibility {
  readonly causal: boolean;
  /** Nonzero = may attend; broadcast from the right to `[B, H, Sq, Skv]`. */
  readonly mask: Tensor | undefined;
  readonly isHidden: HiddenRule | undefined;
}

type Extents = Pick<AttentionSource, "heads" | "queries" | "keys">;

/** One rule for causal, mask and isHidden together; undefined if everything is visible. */
export function hiddenRule(visibility: Visibility, extents: Extents, batch = 0): HiddenRule | undefined {
  const rules: HiddenRule[] = [];
  const offset = extents.keys - extents.queries;
  if (visibility.causal) rules.push((query, key) => key > query + offset);
  if (visibility.mask) rules.push(maskRule(visibility.mask, extents, batch));
  const { isHidden } = visibility;
  if (isHidden) rules.push((query, key, head) => Boolean(isHidden(query, key, head))); // the function of the page may return any value
  if (rules.length < 2) return rules[0];
  return (query, key, head) => rules.some((rule) => rule(query, key, head));
}

function maskRule({ data, shape }: Tensor, { heads, queries, keys }: Extents, batch: number): HiddenRule {
  const own = shape.length <= 4 ? padded(shape, 4) : [];
  const fits = [batch + 1, heads, queries, keys].every((extent, axis) =>
    axis === 0 ? own[0] === 1 || own[0]! >= extent : own[axis] === 1 || own[axis] === extent,
  );
  if (!fits)
    throw new ShapeError(
      `headwise/viz: mask must broadcast to [${heads}, ${queries}, ${keys}], got shape ${describe(shape)}`,
    );
  const [b, h, q, k] = own as [number, number, number, number];
  const start = b > 1 ? batch * h * q * k : 0;
  // an axis of extent 1 is broadcast: its step is 0
  const steps = { head: h > 1 ? q * k : 0, query: q > 1 ? k : 0, key: k > 1 ? 1 : 0 };
  return (query, key, head) => Number(data[start + head * steps.head + query * steps.query + key * steps.key]) === 0;
}
