import { PANEL_WIDTH } from "../linear/weight.js";
import type { WeightData } from "./storedNumbers.js";

/** Rows of a matrix of a file, from row `first` on, on their way to panels. */
export interface FileRows {
  readonly data: WeightData;
  readonly first: number;
  readonly of: { readonly shape: readonly [rows: number, width: number] };
}

/** Puts rows into panels, each of which has the weights of an output: a column of a panel. */
export function fillColumns(panels: WeightData, { data, first, of }: FileRows): void {
  const [outputs, inputs] = of.shape;
  const end = first + data.length / inputs;
  for (let output = first, from = 0; output < end; output++) {
    const column = output % PANEL_WIDTH;
    const last = from + inputs;
    for (let to = (output - column) * inputs + column; from < last; from++, to += PANEL_WIDTH) panels[to] = data[from]!;
  }
  if (end === outputs) clearPast(outputs, inputs, panels);
}

/** Puts rows into panels, each of which has the weights of an input: a row of every panel. */
export function fillPanelRows(panels: WeightData, { data, first, of }: FileRows): void {
  const [inputs, outputs] = of.shape;
  const end = first + data.length / outputs;
  for (let input = first, from = 0; input < end; input++) {
    const last = from + outputs;
    for (let place = input * PANEL_WIDTH; from < last; place += PANEL_WIDTH * inputs) {
      const next = Math.min(from + PANEL_WIDTH, last);
      for (let to = place; from < next; from++, to++) panels[to] = data[from]!;
    }
  }
  if (end === inputs) clearPast(outputs, inputs, panels);
}

/** Zeros past the last output, if the last panel is not full. */
function clearPast(outputs: number, inputs: number, panels: WeightData): void {
  const rest = outputs % PANEL_WIDTH;
  if (rest === 0) return;
  for (let row = (outputs - rest) * inputs; row < panels.length; row += PANEL_WIDTH)
    panels.fill(0, row + rest, row + PANEL_WIDTH);
}

/** The weights of an output, from panels of so many inputs. */
export function columnOf(panels: WeightData, output: number, inputs: number): WeightData {
  const column = output % PANEL_WIDTH;
  const first = (output - column) * inputs + column;
  const copy = new (panels.constructor as new (length: number) => WeightData)(inputs);
  for (let i = 0; i < inputs; i++) copy[i] = panels[first + i * PANEL_WIDTH]!;
  return copy;
}
