import type { Formula } from "../reference/formulaReference.js";

export interface TableText {
  readonly data: readonly number[];
  readonly shape: readonly number[];
}

/** A formula in a file: its text, and its parameters by name. */
export interface FormulaText {
  readonly text: string;
  readonly parameters: Readonly<Record<string, number | TableText>>;
}

export function formulaOf({ text, parameters }: FormulaText): Formula {
  return {
    text,
    graph: { parameters: Object.keys(parameters).map((name) => ({ name })) },
    values: Object.values(parameters).map((value) =>
      typeof value === "number" ? value : { data: value.data, extents: value.shape },
    ),
  };
}
