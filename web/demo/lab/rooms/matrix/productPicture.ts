import { element, formula, scrollable } from "../../shell/element.js";
import type { Form } from "./steps.js";
import type { FormGrid } from "./formGrid.js";
import type { Name, Scene } from "./parts.js";

/** The place of a matrix: its row and column among the matrices, from 1, as they stand in the row form. */
export type Places = Partial<Readonly<Record<Name, readonly [number, number]>>>;

/**
 * Products as a scheme: each stands at the corner of its factors, to the right of the left one and below the right one.
 * In the column form the whole scheme is turned over.
 */
export class ProductPicture {
  readonly node: HTMLElement;
  readonly #grids: readonly { readonly grid: FormGrid; readonly place: readonly [number, number] }[];
  readonly #formula = element("div", { class: "scheme-formula" });
  readonly #formulas: (scene: Scene) => readonly string[];
  readonly #formulaPlace: readonly [number, number, number];

  /** `formulaPlace` is the row and column of the formula, and how many columns it takes. */
  constructor(
    label: string,
    grids: Readonly<Partial<Record<Name, FormGrid>>>,
    places: Places,
    formulas: (scene: Scene) => readonly string[],
    formulaPlace: readonly [number, number, number],
  ) {
    this.#grids = Object.entries(places).map(([name, place]) => ({ grid: grids[name as Name]!, place }));
    this.#formulas = formulas;
    this.#formulaPlace = formulaPlace;
    const scheme = element("div", { class: "scheme" }, this.#formula, ...this.#grids.map(({ grid }) => grid.node));
    this.node = scrollable(label, scheme);
  }

  arrange(scene: Scene): void {
    const { form } = scene;
    for (const { grid, place } of this.#grids) setPlace(grid.node, place, 1, form);
    const [row, column, span] = this.#formulaPlace;
    setPlace(this.#formula, [row, column], span, form);
    this.#formula.replaceChildren(...this.#formulas(scene).map(formula));
  }
}

function setPlace(node: HTMLElement, [row, column]: readonly [number, number], span: number, form: Form): void {
  node.style.gridArea =
    form === "rows" ? `${row} / ${column} / auto / span ${span}` : `${column} / ${row} / span ${span} / auto`;
}
