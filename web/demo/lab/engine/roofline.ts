const CHAINS = 12;
const STEPS = 4000;
/** Lanes × multiply and add × chains. */
const FLOPS = 4 * 2 * CHAINS * STEPS;
const ROUNDS = 60;

// Local variables of the probe: its counter, the sums, a factor and a summand.
const FACTOR = 1 + CHAINS;
const SUMMAND = FACTOR + 1;

const get = (local: number) => [0x20, local];
const set = (local: number) => [0x21, local];
const constant = (value: number) => [0x43, ...new Uint8Array(new Float32Array([value]).buffer)];
const SPLAT = [0xfd, 0x13];
const MULTIPLY = [0xfd, 0xe6, 0x01];
const ADD = [0xfd, 0xe4, 0x01];
const RELAXED_MADD = [0xfd, 0x85, 0x02];
const LANE_0 = [0xfd, 0x1f, 0x00];

/**
 * The peak of one core in floating-point operations a second: multiply-adds of four floats, on sums that do not wait
 * for each other. The WebAssembly module is written here byte by byte. undefined if the engine does not know the
 * instructions.
 */
export async function roofline(isFused: boolean): Promise<number | undefined> {
  const bytes = Uint8Array.from(probe(isFused));
  if (!WebAssembly.validate(bytes)) return undefined;
  const { instance } = await WebAssembly.instantiate(bytes);
  const run = instance.exports["run"] as (steps: number) => number;
  let best = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    for (let call = 0; call < 10; call++) run(STEPS);
    best = Math.max(best, (10 * FLOPS) / (performance.now() - start));
  }
  return 1000 * best;
}

function probe(isFused: boolean): number[] {
  const sums = Array.from({ length: CHAINS }, (_, chain) => 1 + chain);
  const start = [
    ...sums.flatMap((sum) => [...constant(sum / CHAINS), ...SPLAT, ...set(sum)]),
    ...[...constant(0.999), ...SPLAT, ...set(FACTOR)],
    ...[...constant(0.001), ...SPLAT, ...set(SUMMAND)],
  ];
  const step = (sum: number) =>
    isFused
      ? [...get(sum), ...get(FACTOR), ...get(SUMMAND), ...RELAXED_MADD, ...set(sum)]
      : [...get(sum), ...get(FACTOR), ...MULTIPLY, ...get(SUMMAND), ...ADD, ...set(sum)];
  const countDown = [...get(0), 0x41, 1, 0x6b, 0x22, 0]; // decrements the counter and leaves it on the stack
  const loop = [0x03, 0x40, ...sums.flatMap(step), ...countDown, 0x0d, 0, 0x0b];
  const total = [...get(1), ...sums.slice(1).flatMap((sum) => [...get(sum), ...ADD]), ...LANE_0];
  const body = [1, CHAINS + 2, 0x7b, ...start, ...loop, ...total, 0x0b];
  return [
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, 0x7f, 1, 0x7d]), // (i32) → f32
    ...section(3, [1, 0]),
    ...section(7, [1, 3, 0x72, 0x75, 0x6e, 0, 0]), // "run"
    ...section(10, [1, ...sized(body)]),
  ];
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...sized(content)];
}

function sized(content: readonly number[]): number[] {
  return [...leb(content.length), ...content];
}

function leb(value: number): number[] {
  return value < 128 ? [value] : [(value % 128) + 128, ...leb(Math.floor(value / 128))];
}
