import { largestOf } from "../../tensor/largest.js";
import { anglePairs, sectionPairs } from "../attention/angles.js";
import type { Call } from "../call/call.js";
import type { Angles } from "./headEnds.js";
import type { LayerOnDevice } from "./layerOnDevice.js";
import type { Positions } from "./saved.js";

/** The angles of all queries and keys, if the layer turns them. */
export function turningAngles(
  call: Call,
  { problem: { position, shape }, angles: kept }: Pick<LayerOnDevice, "problem" | "angles">,
  positions: Positions,
  isTurnedByCache = false,
): Angles {
  if (position.kind !== "rotary") return { span: undefined, firstKey: 0 };
  if (isTurnedByCache) {
    const pairs = (position.angles.rotaryDim || shape.headDim) / 2; // the layer's kernels turn by nothing
    const tokens = Math.max(positions.query.length, positions.key.length);
    return {
      span: call.table(Float32Array.from({ length: 2 * pairs * tokens }, (_, n) => 1 - (n % 2))),
      firstKey: 0,
    };
  }
  const { scaling } = position.angles;
  const { query, key } = positions;
  const queries = positions.planes?.query ?? [query];
  const keys = positions.planes?.key ?? [key];
  const sequenceLength = scaling?.sequenceLength ?? Math.max(...[...queries, ...keys].map(largestOf)) + 1;
  const angles = { ...position.angles, scaling: scaling && { ...scaling, sequenceLength } };
  const shared = queries.every((plane, n) => isSame(plane, keys[n]!));
  const planes = shared ? queries : queries.map((plane, n) => joined(plane, keys[n]!));
  const ofAll = scaling ? sequenceLength : 0;
  const decides = Float64Array.from([planes.length, ofAll, ...planes.flatMap((plane) => [...plane])]);
  const make = () =>
    planes.length > 1 ? sectionPairs(angles, shape.headDim, planes) : anglePairs(angles, shape.headDim, planes[0]!);
  return { span: kept.place(call, decides, make), firstKey: shared ? 0 : query.length };
}

const isSame = (a: Float64Array, b: Float64Array) => a.length === b.length && a.every((at, n) => at === b[n]);

function joined(a: ArrayLike<number>, b: ArrayLike<number>): Float64Array {
  const both = new Float64Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
