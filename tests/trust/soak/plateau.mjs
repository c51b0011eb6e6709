// Whether a size has stopped growing, told from samples that are taken at equal distances.
//
// The heap of V8 and the resident memory of a process go up and down by what their allocators keep. So two samples say
// nothing about a leak. A leak lifts all later samples. The growth is the LOWEST sample of the last quarter minus
// the HIGHEST sample of the first half, or 0 if that is negative.

/**
 * @param {readonly number[]} samples - in bytes, after the warm-up
 * @returns {{ growth: number, spread: number }} in bytes; the spread of the first half says how rough the plateau is
 */
export function plateau(samples) {
  const half = samples.slice(0, samples.length / 2);
  const last = samples.slice(-samples.length / 4);
  const highest = Math.max(...half);
  return { growth: Math.max(0, Math.min(...last) - highest), spread: highest - Math.min(...half) };
}

/**
 * The smallest leak that `plateau` cannot miss, in bytes for each call. Between the middle of the samples and the
 * beginning of the last quarter such a leak adds more than the spread.
 */
export const smallestSeen = ({ spread }, calls) => (4 * spread) / calls;

/** The samples that differ from the first one: none, if a size does not change at all. */
export const changes = (samples) => samples.filter((sample) => sample !== samples[0]).length;
