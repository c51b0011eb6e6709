// How much the tests with random inputs do. `npm run trust` sets the environment for more than `npm test` does.

/** The number of calls of a kind. */
export const callsOf = (usual: number) => Number(process.env["HEADWISE_CALLS"] ?? usual);

/** The seed of random inputs. */
export const SEED = Number(process.env["HEADWISE_SEED"] ?? 1);

/** The parameters of a property of fast-check. Without a seed in the environment each run has another one. */
export const parametersOf = (usual: number) => ({
  numRuns: callsOf(usual),
  ...(process.env["HEADWISE_SEED"] !== undefined && { seed: SEED }),
});
