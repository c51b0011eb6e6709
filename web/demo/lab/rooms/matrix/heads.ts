import { element, folded, withIndices } from "../../shell/element.js";
import { t } from "../../../texts/t.js";
import { FormGrid } from "./formGrid.js";
import { nameOf, axisLabels, SHAPES, type Name, type Scene } from "./parts.js";
import { shapeWords } from "./sizes.js";
import { binOf } from "./definition.js";
import { divideWords, headsWords, joinWords } from "./words.js";
import type { Matrix } from "../../shell/matrix.js";

/** The heads cut apart, each with its own weights and output, and joined again. */
export class HeadsCard {
  readonly node: HTMLElement;
  readonly #cut = element("p", { class: "hint" });
  readonly #heads = element("div", { class: "row head-cuts" });
  readonly #join = element("p", { class: "hint" });
  readonly #joined = element("div", { class: "head-cuts" });

  constructor() {
    this.node = folded(t`Heads: cut apart and joined again`, this.#cut, this.#heads, this.#join, this.#joined);
  }

  show(scene: Scene): void {
    const { steps, inputs } = scene;
    const figures = steps.heads.map(({ weights }, head) => {
      const own = { ...scene, head };
      const output = binOf(steps.y, head, inputs.sizes.valueDim);
      const grids = [picture("p", weights, own, "share"), picture("yn", output, own)];
      return element(
        "section",
        { class: "head" },
        element("h3", {}, t`Head ${head + 1}`),
        element("div", { class: "row" }, ...grids),
      );
    });
    this.#heads.replaceChildren(...figures);
    this.#joined.replaceChildren(picture("y", steps.y, scene));
    this.#cut.replaceChildren(...withIndices(`${headsWords(scene)} ${divideWords(scene)}`));
    this.#join.replaceChildren(...withIndices(joinWords(scene)));
  }
}

function picture(name: Name, m: Matrix, scene: Scene, tone: "signed" | "share" = "signed"): HTMLElement {
  const [rows, columns] = SHAPES[name];
  const { form, inputs } = scene;
  const shape = form === "columns" ? ([columns, rows] as const) : ([rows, columns] as const);
  const of = name === "p" ? t`P of head ${scene.head + 1}` : name === "y" ? t`Y, joined` : nameOf(name, scene);
  const grid = new FormGrid({ name: of, tone });
  grid.show(m, form, {
    name: of,
    shape: shapeWords(inputs.sizes, shape),
    rows: axisLabels(rows, scene),
    columns: axisLabels(columns, scene),
    bins: name === "y" ? { columns: inputs.sizes.valueDim } : {},
  });
  return grid.node;
}
