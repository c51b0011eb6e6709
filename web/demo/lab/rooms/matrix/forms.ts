import { element, folded, howTo, scrollable } from "../../shell/element.js";
import type { Cell } from "../../shell/numberGrid.js";
import { t } from "../../../texts/t.js";
import type { Form, Steps } from "./steps.js";
import { FormGrid } from "./formGrid.js";
import { originOf } from "./origin.js";
import { axisLabels, nameOf, sceneOf, SHAPES, type Name, type Scene } from "./parts.js";
import { shapeWords } from "./sizes.js";
import { formsWords } from "./words.js";

const NAMES = ["p", "vn", "yn"] as const satisfies readonly Name[];
const FORMS = ["rows", "columns"] as const;
/** Where the matrices of the last product stand in the row form. */
const PLACES = { p: [2, 1], vn: [1, 2], yn: [2, 2] } as const;
const TITLES = { rows: t`Positions are rows: Y = P·V`, columns: t`Positions are columns: Y = V·P` };

/** The same numbers in both forms, side by side. Pointing at one lights the other. */
export class FormsCard {
  readonly node: HTMLElement;
  readonly #grids: Readonly<Record<Form, Readonly<Record<(typeof NAMES)[number], FormGrid>>>>;
  readonly #words = element("span");
  #scenes: Readonly<Record<Form, Scene>> | undefined;

  constructor() {
    const gridsOf = (form: Form) =>
      Object.fromEntries(NAMES.map((name) => [name, this.#makeGrid(name, form)])) as Record<
        (typeof NAMES)[number],
        FormGrid
      >;
    this.#grids = { rows: gridsOf("rows"), columns: gridsOf("columns") };
    const figures = FORMS.map((form) => {
      const grids = NAMES.map((name) => this.#grids[form][name].node);
      return element(
        "section",
        { class: "step" },
        element("h3", {}, TITLES[form]),
        scrollable(TITLES[form], element("div", { class: "scheme" }, ...grids)),
      );
    });
    this.node = folded(
      t`Rows or columns: the same numbers`,
      element("p", { class: "hint" }, this.#words, howTo(t` Point at a number to find it in the other form.`)),
      element("div", { class: "schemes" }, ...figures),
    );
  }

  /** Shows one head, computed in both forms. */
  show(scene: Scene, both: Readonly<Record<Form, Steps>>): void {
    const { inputs, head, reading } = scene;
    this.#scenes = {
      rows: sceneOf(inputs, both.rows, head, "rows", reading),
      columns: sceneOf(inputs, both.columns, head, "columns", reading),
    };
    for (const form of FORMS) for (const name of NAMES) this.#showPart(name, this.#scenes[form]);
    this.#words.textContent = formsWords(both);
    this.#point("yn", { row: 0, column: 0 });
  }

  #makeGrid(name: (typeof NAMES)[number], form: Form): FormGrid {
    const onCell = (cell: Cell | undefined) => cell && this.#point(name, cell);
    const grid = new FormGrid({ name, tone: name === "p" ? "share" : "signed", onCell });
    const [row, column] = PLACES[name];
    grid.node.style.gridArea = form === "rows" ? `${row} / ${column}` : `${column} / ${row}`;
    return grid;
  }

  #showPart(name: (typeof NAMES)[number], scene: Scene): void {
    const { form, inputs, parts } = scene;
    const [rows, columns] = SHAPES[name];
    const short = name === "p" ? "P" : nameOf(name, scene);
    const shape = form === "columns" ? ([columns, rows] as const) : ([rows, columns] as const);
    this.#grids[form][name].show(parts[name], form, {
      name: form === "columns" ? t`${short}, as columns` : t`${short}, as rows`,
      shape: shapeWords(inputs.sizes, shape),
      rows: name === "yn" ? [] : axisLabels(rows, scene),
      columns: axisLabels(columns, scene),
    });
  }

  /** Lights the same cell in both forms, and what made it. */
  #point(name: Name, cell: Cell): void {
    for (const form of FORMS) {
      const { lights } = originOf(name, cell, this.#scenes![form]);
      for (const part of NAMES) this.#grids[form][part].light(lights[part]);
    }
  }
}
