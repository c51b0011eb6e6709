import { describe } from "../base/describe.js";
import { OptionError, ShapeError } from "../base/errors.js";
import {
  assertAllThere,
  assertShape,
  firstOutside,
  floats,
  indices,
  type Floats,
  type Indices,
} from "../tensor/plainTensor.js";
import { zeros } from "../tensor/zeros.js";

/**
 * Looks tokens up in a table: row t of the table for each token t.
 *
 * @param table - `[V, N]`
 * @param tokens - Integers from 0 to V − 1, of any shape.
 * @returns `[...tokens.shape, N]`
 */
export function embedding(table: Floats, tokens: Indices): Floats {
  const { rows, width, ids, shape } = checkedLookup("embedding", table, tokens);
  const { data: y } = zeros("embedding", "the result", [ids.length, width]);
  for (let n = 0, at = 0; n < ids.length; n++) {
    const start = ids[n]! * width;
    for (let i = 0; i < width; i++, at++) y[at] = rows[start + i]!;
  }
  return { data: y, shape };
}

/**
 * The gradient of embedding with respect to the table: row t is the sum of the rows of dOutput whose token is t.
 *
 * @param dOutput - `[...tokens.shape, N]`
 * @returns `[V, N]`
 */
export function embeddingBackward(table: Floats, tokens: Indices, dOutput: Floats): Floats {
  const { rows, width, ids, shape, tableShape } = checkedLookup("embeddingBackward", table, tokens);
  const given = floats("embeddingBackward", "dOutput", dOutput);
  const { data } = given;
  assertShape("embeddingBackward", "dOutput", given, shape, "[...tokens.shape, table.shape[1]],");
  assertAllThere("embeddingBackward", { table: rows, tokens: ids });
  const dTable = new Float32Array(rows.length);
  const sum = new Float64Array(width);
  const byToken = Int32Array.from(ids.keys()).sort((a, b) => ids[a]! - ids[b]! || a - b);
  byToken.forEach((n, place) => {
    for (let i = 0, at = n * width; i < width; i++, at++) sum[i]! += data[at]!;
    if (ids[byToken[place + 1]!] === ids[n]) return;
    dTable.set(sum, ids[n]! * width);
    sum.fill(0);
  });
  return { data: dTable, shape: tableShape };
}

function checkedLookup(operation: string, table: unknown, tokens: unknown) {
  const { data: rows, shape } = floats(operation, "table", table);
  if (shape.length !== 2)
    throw new ShapeError(`${operation}: table must have two axes [V, N], got shape ${describe(shape)}`);
  const [count, width] = shape as [number, number];
  const given = indices(operation, "tokens", tokens);
  const ids = given.data;
  const wrong = firstOutside(ids, 0, count - 1);
  if (wrong >= 0)
    throw new OptionError(
      `${operation}: tokens[${wrong}] must be from 0 to table.shape[0] − 1, which is ${count - 1}, got ${ids[wrong]}`,
    );
  assertAllThere(operation, { table: rows });
  return { rows, width, ids, shape: [...given.shape, width], tableShape: shape };
}
