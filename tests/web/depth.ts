// How much the tests with random inputs do. `npm run trust` sets the environment for more than `npm test` does, and
// `npm test` without `--all` for a tenth.

/** A tenth of `usual`, or whatever part HEADWISE_FEWER says; at least one. */
const someOf = (usual: number) => Math.ceil(usual / Number(process.env["HEADWISE_FEWER"] ?? 1));

/** The number of calls of a kind. */
export const callsOf = (usual: number) => Number(process.env["HEADWISE_CALLS"] ?? someOf(usual));

/** How often a test repeats something random whose number `npm run trust` does not set. */
export const runsOf = (usual: number) => Number(process.env["HEADWISE_RANDOM_RUNS"] ?? someOf(usual));

/** The seed of random inputs. */
export const SEED = Number(process.env["HEADWISE_SEED"] ?? 1);

/** The parameters of a property of fast-check. Without a seed in the environment each run has another one. */
export const parametersOf = (usual: number) => ({
  numRuns: callsOf(usual),
  ...(process.env["HEADWISE_SEED"] !== undefined && { seed: SEED }),
});

/** Whether the tests take the time for all random calls: `npm test -- --deep`. */
const isDeep = process.env["HEADWISE_DEEP"] === "1";

/** The usual number, or the deep one. A name of a test that says the number says how to get the other. */
export const countOf = (usual: number, deep: number) => (isDeep ? deep : usual);
