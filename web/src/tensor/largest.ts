/**
 * The largest of these numbers, and at least 0. Unlike this, `Math.max(...numbers)` overflows the stack at about
 * 120,000.
 */
export function largestOf(numbers: Iterable<number>): number {
  let largest = 0;
  for (const number of numbers) largest = Math.max(largest, number);
  return largest;
}
