/**
 * `headwise/formula`: your own attention. `formula` makes the values of the options `score` and `visible`.
 *
 * @module
 */
export { formula, type Formula, type Parameters, type Replacements } from "../formula/formula.js";
export { type FormulaError } from "../formula/formulaError.js";
export type { FormulaData, Graph, Node, Operation, Parameter, Table, Variable } from "../formula/graph.js";
export type { ParameterValue, TableList, TableValue } from "../formula/parameters.js";
