import { describe } from "../describe.js";
import { OptionError, UnsupportedError } from "../errors.js";
import { readOptions, type OptionReader } from "../options.js";
import { CallArguments } from "../callArguments.js";

export interface OperatorOptions {
  /** The operator set whose rules apply. Default: 25, the newest known here; later ones count as 25. */
  readonly opset?: number;
}

/** For each formal input and attribute of an operator, the opset that brought it. */
export interface OperatorRules {
  readonly operator: string;
  readonly since: number;
  readonly inputs: Readonly<Record<string, number>>;
  readonly required: readonly string[];
  readonly attributes: Readonly<Record<string, number>>;
}

const NEWEST_OPSET = 25;

/**
 * Refuses an opset without the operator, names that the operator does not have, or not yet in that opset, and missing
 * inputs. Returns a reader of the attributes, and the opset.
 */
export function readOperator(
  { operator, since, inputs: knownInputs, required, attributes: knownAttributes }: OperatorRules,
  inputs: unknown,
  attributes: unknown,
  { opset = NEWEST_OPSET }: OperatorOptions,
): { attributes: OptionReader; opset: number } {
  if (!Number.isInteger(opset) || opset < since)
    throw new UnsupportedError(`${operator}: opset must be an integer of at least ${since}, got ${describe(opset)}`);
  const call = new CallArguments(operator);
  const readers = [
    { known: knownInputs, reader: readOptions(call, inputs, Object.keys(knownInputs), "inputs") },
    {
      known: knownAttributes,
      reader: readOptions(call, attributes, Object.keys(knownAttributes), "attributes"),
    },
  ] as const;
  for (const { known, reader } of readers)
    for (const [name, from] of Object.entries(known))
      if (reader.has(name) && opset < from)
        throw new OptionError(`${operator}: ${reader.name(name)} needs opset ${from}, got opset ${opset}`);
  const missing = required.find((name) => !readers[0].reader.has(name));
  if (missing !== undefined) throw new OptionError(`${operator}: inputs.${missing} is required, got undefined`);
  return { attributes: readers[1].reader, opset };
}

/** An attribute that ONNX stores as 0 or 1. */
export function flag(attributes: OptionReader, name: string): boolean {
  const value = attributes.value(name) ?? 0;
  if (![0, 1, false, true].includes(value as number)) throw attributes.refuse(name, "be 0 or 1");
  return Boolean(value);
}
