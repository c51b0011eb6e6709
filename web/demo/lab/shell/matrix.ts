/** A small matrix, row-major. */
export interface Matrix {
  readonly rows: number;
  readonly columns: number;
  readonly data: readonly number[];
}

export function matrix(rows: number, columns: number, entry: (row: number, column: number) => number): Matrix {
  const data = Array.from({ length: rows * columns }, (_, at) => entry(Math.floor(at / columns), at % columns));
  return { rows, columns, data };
}

export function at({ columns, data }: Matrix, row: number, column: number): number {
  return data[row * columns + column]!;
}

export function transposed(m: Matrix): Matrix {
  return matrix(m.columns, m.rows, (row, column) => at(m, column, row));
}

export function product(a: Matrix, b: Matrix): Matrix {
  return matrix(a.rows, b.columns, (row, column) => {
    let sum = 0;
    for (let k = 0; k < a.columns; k++) sum += at(a, row, k) * at(b, k, column);
    return sum;
  });
}

export function scaled(m: Matrix, factor: number): Matrix {
  return { ...m, data: m.data.map((value) => value * factor) };
}

/** The matrix of one head of a result. The last two extents of the tensor are rows and columns. */
export function headMatrix(
  { data, shape }: { readonly data: Float32Array; readonly shape: readonly number[] },
  head = 0,
): Matrix {
  const [rows, columns] = shape.slice(-2) as [number, number];
  return { rows, columns, data: Array.from(data.subarray(head * rows * columns, (head + 1) * rows * columns)) };
}

/** The matrix as a tensor [rows, columns]. */
export function asTensor({ rows, columns, data }: Matrix): { data: Float32Array; shape: number[] } {
  return { data: Float32Array.from(data), shape: [rows, columns] };
}

/** "1 0;0 1" */
export function formatMatrix({ rows, columns, data }: Matrix): string {
  return Array.from({ length: rows }, (_, row) => data.slice(row * columns, (row + 1) * columns).join(" ")).join(";");
}

/** Reads the text of formatMatrix, at this size. Missing numbers come from `filler`. */
export function parseMatrix(text: string, rows: number, columns: number, filler: Matrix): Matrix {
  const cells = text.split(";").map((row) => row.trim().split(/\s+/).map(entryOf));
  return matrix(rows, columns, (row, column) => {
    const value = cells[row]?.[column];
    if (value !== undefined) return value;
    return row < filler.rows && column < filler.columns ? at(filler, row, column) : 0;
  });
}

/** Sums and products of larger entries would not fit the cells. */
export const LARGEST_ENTRY = 999;

/**
 * The number that was typed, or that JavaScript has written. Any minus sign and decimal mark is read. Undefined if it is
 * none, or too large.
 */
export function entryOf(typed: string): number | undefined {
  const text = typed.trim().replaceAll("−", "-").replace(",", ".");
  const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : NaN;
  return Math.abs(value) <= LARGEST_ENTRY ? value : undefined;
}
