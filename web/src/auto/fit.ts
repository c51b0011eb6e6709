import { FARTHEST, limited, partsOf, speedOfList, speedsAsList, type Load, type Speed } from "./speed.js";

/** A call that was timed. */
export interface Timing {
  readonly load: Load;
  readonly seconds: number;
}

/** A time that is off by more than this, as a natural logarithm, counts less than in proportion to its square. */
const USUAL_ERROR = 0.15;

/** Weight of the assumption. It decides the numbers about which the timings say nothing. */
const ASSUMED_WEIGHT = 1e-2;

const MOST_STEPS = 60;

type Three = [number, number, number];

/**
 * The speed that explains the timings best. The logarithms of the three numbers are sought, so all stay above 0, and the
 * logarithms of the times are compared, so a short call counts as much as a long one. A few disturbed timings hardly
 * matter (Huber's loss). Levenberg and Marquardt's method.
 */
export function fitted(assumed: Speed, timings: readonly Timing[]): Speed {
  const around = speedsAsList(assumed).map(Math.log) as Three;
  const most = Math.log(FARTHEST);
  const speedAt = (logs: Three) => speedOfList(logs.map(Math.exp) as Three);
  const lossAt = (logs: Three) =>
    timings.reduce((sum, timing) => sum + huber(errorOf(speedAt(logs), timing)), 0) +
    ASSUMED_WEIGHT * logs.reduce((sum, log, n) => sum + (log - around[n]!) ** 2, 0);
  let logs = around;
  let loss = lossAt(logs);
  let damping = 1e-2;
  for (let step = 0; step < MOST_STEPS && damping < 1e6; ++step) {
    const change = stepAt(speedAt(logs), logs, around, timings, damping);
    const next = logs.map((log, n) => Math.min(Math.max(log + change[n]!, around[n]! - most), around[n]! + most));
    const nextLoss = lossAt(next as Three);
    if (nextLoss < loss) {
      [logs, loss, damping] = [next as Three, nextLoss, damping / 3];
    } else damping *= 4;
  }
  return limited(speedAt(logs), assumed);
}

function errorOf(speed: Speed, { load, seconds }: Timing): number {
  return Math.log(partsOf(speed, load).reduce((sum, part) => sum + part, 0) / seconds);
}

function huber(error: number): number {
  const size = Math.abs(error);
  return size <= USUAL_ERROR ? size * size : USUAL_ERROR * (2 * size - USUAL_ERROR);
}

/** One damped Gauss–Newton step. */
function stepAt(speed: Speed, logs: Three, around: Three, timings: readonly Timing[], damping: number): Three {
  const matrix = [0, 1, 2].map((n) => [0, 1, 2].map((m) => (n === m ? ASSUMED_WEIGHT + damping : 0)));
  const right = logs.map((log, n) => -ASSUMED_WEIGHT * (log - around[n]!)) as Three;
  for (const timing of timings) {
    const parts = partsOf(speed, timing.load);
    const total = parts.reduce((sum, part) => sum + part, 0);
    const error = Math.log(total / timing.seconds);
    const weight = Math.min(1, USUAL_ERROR / Math.max(Math.abs(error), 1e-12));
    const shares = parts.map((part) => part / total);
    for (let n = 0; n < 3; ++n) {
      right[n]! -= weight * shares[n]! * error;
      for (let m = 0; m < 3; ++m) matrix[n]![m]! += weight * shares[n]! * shares[m]!;
    }
  }
  return solved(matrix, right);
}

/** The solution of a symmetric positive definite system of three equations, by Cramer's rule. */
function solved(matrix: readonly (readonly number[])[], right: Three): Three {
  const whole = determinant(matrix);
  return [0, 1, 2].map(
    (column) => determinant(matrix.map((row, n) => row.map((x, m) => (m === column ? right[n]! : x)))) / whole,
  ) as Three;
}

function determinant([a, b, c]: readonly (readonly number[])[]): number {
  const [a0, a1, a2] = a as Three;
  const [b0, b1, b2] = b as Three;
  const [c0, c1, c2] = c as Three;
  return a0 * (b1 * c2 - b2 * c1) - a1 * (b0 * c2 - b2 * c0) + a2 * (b0 * c1 - b1 * c0);
}
