import { expect, test } from "@jest/globals";

import { type Engine } from "../../../web/demo/lab/engine/engine.js";
import { calculate } from "../../../web/demo/lab/rooms/matrix/calculation.js";
import { fields, inputsOf } from "../../../web/demo/lab/rooms/matrix/settings.js";
import { State } from "../../../web/demo/lab/shell/state.js";
import { LabPage } from "./labPage.js";

const lab = new LabPage();

test.each(["", "form=columns&causal=true", "heads=2&head=2&excludeSelf=true&scale=false", "softmax=false"])(
  "matrix, %s: the room computes what the package computes in Node",
  async (query) => {
    const inputs = inputsOf(new State(fields, new URLSearchParams(query)).values);
    const { heads, output } = await calculate(lab.hw as unknown as Engine, inputs);
    await lab.enter(`matrix?${query}`);
    const shown = heads.at(-1)!.weights;
    const turn = ({ rows, columns, data }: typeof output) =>
      inputs.columns ? Array.from(data, (_, i) => data[(i % rows) * columns + Math.floor(i / rows)]!) : data;
    const near = (found: number[], wanted: readonly number[]) =>
      wanted.forEach((value, i) => expect(Math.abs(found[i]! - value)).toBeLessThanOrEqual(0.00501));
    near(await lab.tableNumbers("weights P"), turn(shown));
    near(await lab.tableNumbers("output Y"), turn(output));
  },
);
