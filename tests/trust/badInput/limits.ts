/** What a call with bad input may cost before it is refused. */
export const MOST_MILLISECONDS = 1000;
export const MOST_BYTES = 64 * 2 ** 20;
