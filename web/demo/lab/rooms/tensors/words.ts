import { listed } from "../../shell/amounts.js";
import { counted, grouped, scientific, significant } from "../../shell/numbers.js";
import type { Role } from "./roles.js";
import { t } from "../../../texts/t.js";

/** What the room shows. */
export interface Shown {
  readonly isExample: boolean;
  /** The inputs and the tensors that they are, as in ["Query", "q"]. */
  readonly inputs: readonly (readonly [role: string, tensor: string])[];
  /** The random tokens that stand in for X; 0 if there are none. */
  readonly randomTokens: number;
  readonly batches: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
}

export function finding({ isExample, inputs, randomTokens, heads, queries, keys }: Shown): string {
  const sizes = listed([counted(heads, "head"), counted(queries, "query", "queries"), counted(keys, "key")]);
  if (isExample) return t`An example of random numbers: ${sizes}. Drop files of your own anywhere on this page.`;
  const given = inputs.map(([role, tensor]) => t`${role} is ${tensor}`);
  const tokens = randomTokens > 0 ? [t`X is ${randomTokens} random tokens`] : [];
  return t`Your tensors: ${sizes}; ${listed([...given, ...tokens])}.`;
}

/** What is random of what is shown; "" if nothing is. */
export function randomWords({ isExample, randomTokens }: Pick<Shown, "isExample" | "randomTokens">): string {
  if (isExample && randomTokens > 0) return t`The example’s tensors are random numbers, and so are the tokens X.`;
  if (isExample) return t`The example’s tensors are random numbers.`;
  return randomTokens > 0 ? t`The tokens X are random numbers.` : "";
}

/** Why nothing is shown. */
export function nothing(missing: readonly Role[], tensors: number): string {
  if (tensors === 0) return t`Nothing is shown: no file could be read.`;
  return t`Nothing is shown yet: no tensor is chosen for ${listed(missing.map(({ label }) => label))}.`;
}

/** The shape of the output, and its smallest and largest number. */
export function outputWords(output: { readonly shape: readonly number[]; readonly data: Float32Array }): string {
  const { low, high, finite } = extremes(output.data);
  const all = output.data.length;
  const whole = t`Output [${output.shape.join(", ")}]: ${counted(all, "number")}`;
  if (finite === 0) return t`${whole}, and none is finite.`;
  const [least, most] = [signed(low), signed(high)];
  if (finite === all) return t`${whole} from ${least} to ${most}.`;
  return all - finite === 1
    ? t`${whole} from ${least} to ${most}; 1 of them is not finite.`
    : t`${whole} from ${least} to ${most}; ${grouped(all - finite)} of them are not finite.`;
}

/** What the map leaves out; "" if it shows everything. */
export function mapWords({ batches, heads, queries, keys }: Shown, isWhole: boolean, isDrawn: boolean): string {
  const batch = batches > 1 ? `${t`The map shows batch 0 of ${batches}.`} ` : "";
  const weights = grouped(batches * heads * queries * keys);
  if (isWhole) return batch.trim();
  return isDrawn
    ? batch + t`There are ${weights} weights: the map asks for the rows that it draws.`
    : t`The ${weights} weights of this layer are too many for a map.`;
}

/** The smallest and largest of the finite numbers, of all of them. */
export function extremes(data: Float32Array): { low: number; high: number; finite: number } {
  let [low, high, finite] = [Infinity, -Infinity, 0];
  for (const value of data) {
    if (!Number.isFinite(value)) continue;
    finite++;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return { low, high, finite };
}

function signed(value: number): string {
  const size = Math.abs(value);
  const text = size === 0 || (size >= 1e-3 && size < 1e6) ? significant(size) : scientific(size);
  return value < 0 ? `−${text}` : text;
}
