import { isObject } from "../base/describe.js";
import { OptionError, UnsupportedError } from "../base/errors.js";
import { checkInstance } from "../instance/givenInstance.js";
import { CallArguments } from "../read/callArguments.js";
import { readOptions, type OptionReader } from "../read/options.js";
import type { Placement } from "../tensor/placement.js";
import { OPERATOR_OTHERS } from "./otherNames.js";

export interface OperatorOptions {
  /** The opset whose rules apply. Default 25, the newest that is known here. A later opset counts as 25. */
  readonly opset?: number | undefined;
}

/** The rules of an operator. For each input and attribute: the opset in which it appeared. */
export interface OperatorRules {
  readonly operator: string;
  readonly since: number;
  /** The method of the instance that the operator calls; undefined if it calls none. */
  readonly method?: string;
  readonly inputs: Readonly<Record<string, number>>;
  readonly required: readonly string[];
  readonly attributes: Readonly<Record<string, number>>;
  readonly options: readonly string[];
}

/** The arguments of an operator. Their names have been checked. */
export interface OperatorArguments {
  readonly call: CallArguments;
  readonly inputs: OptionReader;
  readonly attributes: OptionReader;
  readonly options: OptionReader;
  readonly opset: number;
}

const NEWEST_OPSET = 25;

/**
 * Reads the arguments of an operator.
 *
 * @throws OptionError if the first argument is not an instance, if the operator does not have a name in that opset, or
 *   if an input is missing. UnsupportedError if the opset does not have the operator.
 */
export function readOperator(
  rules: OperatorRules,
  hw: unknown,
  givenInputs: unknown,
  givenAttributes: unknown,
  givenOptions: unknown,
): OperatorArguments {
  const { operator, since, method, required } = rules;
  const call = new CallArguments(operator, placementOf(operator, hw));
  if (method !== undefined) checkInstance(operator, "the first argument", hw, [method]);
  const options = readOptions(call, givenOptions, rules.options);
  const opset = options.integer("opset", { min: 1 }) ?? NEWEST_OPSET;
  if (opset < since)
    throw new UnsupportedError(`${operator}: opset must be an integer of at least ${since}, got ${opset}`);
  const read = (noun: "input" | "attribute", given: unknown) => {
    const path = `${noun}s` as const;
    const reader = readOptions(call, given, Object.keys(rules[path]), path, noun, OPERATOR_OTHERS[path]);
    for (const [name, from] of Object.entries(rules[path]))
      if (reader.has(name) && opset < from)
        throw new OptionError(`${operator}: ${reader.name(name)} needs opset ${from}, got opset ${opset}`);
    return reader;
  };
  const inputs = read("input", givenInputs);
  const attributes = read("attribute", givenAttributes);
  const missing = required.find((name) => !inputs.has(name));
  if (missing !== undefined) throw new OptionError(`${operator}: inputs.${missing} is required, got undefined`);
  return { call, inputs, attributes, options, opset };
}

/**
 * Where the tensors of the instance lie. The instance says it in `locate`, which an object with only the operator's
 * method lacks.
 */
function placementOf(operator: string, hw: unknown): Placement {
  if (!isObject(hw)) return {};
  const locate: unknown = new CallArguments(operator).guarded(
    "the first argument",
    () => (hw as { readonly locate?: unknown }).locate,
  );
  if (typeof locate !== "function") return {};
  return { locate: (...array) => Reflect.apply(locate as NonNullable<Placement["locate"]>, hw, array) };
}

/** Reads an attribute that is 0 or 1. */
export function flag(attributes: OptionReader, name: string): boolean {
  const value = attributes.has(name) ? attributes.value(name) : 0;
  if (![0, 1, false, true].includes(value as number)) throw attributes.refuse(name, "be 0 or 1");
  return Boolean(value);
}
