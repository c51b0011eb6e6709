/** The product of numbers, such as the extents of a shape; 1 if there are none. */
export function product(numbers: readonly number[]): number {
  return numbers.reduce((product, extent) => product * extent, 1);
}
