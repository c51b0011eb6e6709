/**
 * What every consumer in this folder computes: the first two rows of causal attention of the tokens [1,0], [0,1], [1,1]
 * to themselves. Token 0 sees only itself; token 1 has the scores 0 and 1/√2.
 */
const weight = 1 / (1 + Math.exp(Math.SQRT1_2));
export const firstRows = [1, 0, weight, 1 - weight];
