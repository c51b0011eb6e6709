/** The numbers from 0 to below `count`, each mapped. */
export function times<T>(count: number, map: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => map(n));
}
