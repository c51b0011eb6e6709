/** Points in a plane. */
export interface Plane {
  readonly points: readonly (readonly [x: number, y: number])[];
  /** How much of the squared distances between the points the plane holds, from 0 to 1. */
  readonly share: number;
}

const TURNS = 60;

/** The plane in which the points spread most, from their inner products: principal components. */
export function planeOf(count: number, product: (a: number, b: number) => number): Plane {
  const centred = centredProducts(count, product);
  const spread = centred.reduce((sum, row, i) => sum + row[i]!, 0);
  const axes: Axis[] = [];
  for (let n = 0; n < 2; n++) axes.push(mainAxis(centred, axes));
  const [x, y] = axes as [Axis, Axis];
  return {
    points: centred.map((_, i) => [x.coordinates[i]!, y.coordinates[i]!]),
    share: spread > 0 ? (x.spread + y.spread) / spread : 1,
  };
}

interface Axis {
  readonly coordinates: readonly number[];
  readonly spread: number;
}

/** Products of the points less their mean. */
function centredProducts(count: number, product: (a: number, b: number) => number): number[][] {
  const rows = Array.from({ length: count }, (_, a) => Array.from({ length: count }, (__, b) => product(a, b)));
  const means = rows.map((row) => row.reduce((sum, number) => sum + number, 0) / count);
  const mean = means.reduce((sum, number) => sum + number, 0) / count;
  return rows.map((row, a) => row.map((number, b) => number - means[a]! - means[b]! + mean));
}

/** The eigenvector with the largest eigenvalue beside the axes that are known, by power iteration. */
function mainAxis(matrix: readonly (readonly number[])[], known: readonly Axis[]): Axis {
  let vector = matrix.map((row, i) => (row[i]! > 0 ? Math.sqrt(row[i]!) * (1 + i / 8) : 0));
  for (let turn = 0; turn < TURNS; turn++) vector = normal(less(applied(matrix, vector), known));
  const spread = Math.max(0, dot(vector, applied(matrix, vector)));
  const size = Math.sqrt(spread);
  return { coordinates: vector.map((number) => number * size), spread };
}

/** The part of a vector that has no share in the known axes. */
function less(vector: readonly number[], known: readonly Axis[]): number[] {
  return known.reduce<readonly number[]>((rest, { coordinates, spread }) => {
    const along = spread > 0 ? dot(rest, coordinates) / spread : 0;
    return rest.map((number, i) => number - along * coordinates[i]!);
  }, vector) as number[];
}

function applied(matrix: readonly (readonly number[])[], vector: readonly number[]): number[] {
  return matrix.map((row) => dot(row, vector));
}

function normal(vector: readonly number[]): number[] {
  const size = Math.sqrt(dot(vector, vector));
  return size > 0 ? vector.map((number) => number / size) : [...vector];
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, number, i) => sum + number * b[i]!, 0);
}
