import { card, element, howTo, withIndices } from "../../shell/element.js";
import { headLabel } from "../../shell/headWords.js";
import type { Cell, Edit, GridNotes } from "../../shell/numberGrid.js";
import { t } from "../../../texts/t.js";
import { FormGrid } from "./formGrid.js";
import { attentionFormulas, joinFormulas, projectionFormulas } from "./formulas.js";
import { originOf } from "./origin.js";
import { axisLabels, nameOf, SHAPES, type Name, type Scene } from "./parts.js";
import { ProductPicture } from "./productPicture.js";
import type { Stop } from "./stepper.js";
import { EDITABLE, extentOf, shapeWords, type Editable, type Extent } from "./sizes.js";
import { mostAsymmetric } from "./words.js";

/** The matrices in the order of the calculation: a change flashes in each a little after those before. */
const WAVES: readonly (readonly Name[])[] = [
  EDITABLE,
  ["q", "k", "v", "qn", "kt", "vn"],
  ["raw"],
  ["masked"],
  ["p"],
  ["yn"],
  ["y"],
  ["out"],
];

/** The matrices whose positions are named, because no named one stands in line with them. */
const NAMED: ReadonlySet<Name> = new Set<Name>(["x", "qn", "kt", "masked", "p", "vn", "y"]);

/** Each product with its factors, and the step of the diagram that it stands in. */
const STOPS: readonly { readonly name: string; readonly step: number; readonly names: readonly Name[] }[] = [
  { name: t`Queries`, step: 0, names: ["x", "wq", "bq", "q"] },
  { name: t`Keys`, step: 0, names: ["x", "wk", "bk", "k"] },
  { name: t`Values`, step: 0, names: ["x", "wv", "bv", "v"] },
  { name: t`Scores`, step: 1, names: ["qn", "kt", "raw"] },
  { name: t`Weights`, step: 1, names: ["raw", "masked", "p"] },
  { name: t`Output of the head`, step: 1, names: ["p", "vn", "yn"] },
  { name: t`Output`, step: 2, names: ["y", "wo", "bo", "out"] },
];

export interface DiagramEvents {
  onEdit(name: Editable, edits: readonly Edit[]): void;
  onHead(head: number): void;
}

/** The calculation as one connected diagram: every product stands at the corner of its factors. */
export class Diagram {
  readonly node: HTMLElement;
  readonly #grids: Readonly<Record<Name, FormGrid>>;
  readonly #pictures: readonly ProductPicture[];
  readonly #steps: readonly HTMLElement[];
  readonly #picker = element("span", { class: "picker" });
  readonly #origin = element("div", { class: "origin", "aria-live": "polite" });
  readonly #events: DiagramEvents;
  #pointed: { readonly name: Name; readonly cell: Cell } | undefined;
  #scene: Scene | undefined;

  constructor(events: DiagramEvents) {
    this.#events = events;
    const names = WAVES.flat();
    this.#grids = Object.fromEntries(names.map((name) => [name, this.#makeGrid(name)])) as Record<Name, FormGrid>;
    const [project, attend, join] = [
      new ProductPicture(
        t`Projections: X, the weights, and their products Q, K and V`,
        this.#grids,
        {
          x: [3, 1],
          wq: [1, 2],
          bq: [2, 2],
          q: [3, 2],
          wk: [1, 3],
          bk: [2, 3],
          k: [3, 3],
          wv: [1, 4],
          bv: [2, 4],
          v: [3, 4],
        },
        projectionFormulas,
        [1, 1, 1],
      ),
      new ProductPicture(
        t`Attention of one head: Q, K, scores, weights P, V and Y`,
        this.#grids,
        { qn: [2, 1], kt: [1, 2], raw: [2, 2], masked: [2, 3], p: [2, 4], vn: [1, 5], yn: [2, 5] },
        attentionFormulas,
        [1, 3, 2],
      ),
      new ProductPicture(
        t`The joined heads Y, W_O, and their product, the output`,
        this.#grids,
        { y: [3, 1], wo: [1, 2], bo: [2, 2], out: [3, 2] },
        joinFormulas,
        [1, 1, 1],
      ),
    ] as const;
    this.#pictures = [project, attend, join];
    const step = (title: HTMLElement, { node }: ProductPicture) => element("section", { class: "step" }, title, node);
    this.#steps = [
      step(element("h3", {}, t`1 · Project: three views of X`), project),
      step(element("h3", {}, t`2 · Attend, in `, this.#picker), attend),
      step(element("h3", {}, t`3 · Join the heads and project`), join),
    ];
    const steps = element("div", { class: "schemes" }, ...this.#steps);
    this.node = card(t`From X to the output`, element("p", { class: "hint" }, PLACES, howTo(HOW)), steps, this.#origin);
    this.node.classList.add("diagram");
  }

  /** The diagram, product by product: what a phone shows one after another. `source` stands beside products of X. */
  stopsWith(source: HTMLElement): readonly Stop[] {
    return STOPS.map(({ name, step, names }) => ({
      name,
      nodes: [
        ...(names.includes("x") ? [source] : []),
        this.node,
        this.#steps[step]!,
        ...names.map((each) => this.#grids[each].node),
      ],
    }));
  }

  /** Shows a scene. With `flash`, numbers that have changed flash, in the order of the calculation. */
  show(scene: Scene, flash: boolean): void {
    this.#scene = scene;
    for (const picture of this.#pictures) picture.arrange(scene);
    WAVES.forEach((names, wave) => names.forEach((name) => this.#showPart(name, scene, flash ? wave : undefined)));
    this.#showPicker(scene);
    this.#point(this.#pointed ?? telling(scene));
  }

  #makeGrid(name: Name): FormGrid {
    const onCell = (cell: Cell | undefined) => {
      if (!cell) return;
      this.#pointed = { name, cell };
      this.#point(this.#pointed);
    };
    const editable = EDITABLE.find((given) => given === name);
    const onEdit = (edits: readonly Edit[]) => editable && this.#events.onEdit(editable, edits);
    return new FormGrid({ name, tone: name === "p" ? "share" : "signed", onCell, ...(editable && { onEdit }) });
  }

  #showPart(name: Name, scene: Scene, wave: number | undefined): void {
    this.#grids[name].show(scene.parts[name], scene.form, {
      ...notesOf(name, scene),
      ...(wave !== undefined && { wave }),
    });
  }

  /** Lights what made a number, and says it with its numbers. */
  #point({ name, cell }: { readonly name: Name; readonly cell: Cell }): void {
    const scene = this.#scene!;
    const { rows, columns } = scene.parts[name];
    const inside = cell.row < rows && cell.column < columns;
    const { lights, lines } = inside ? originOf(name, cell, scene) : { lights: {}, lines: [] };
    for (const [part, grid] of Object.entries(this.#grids)) grid.light(lights[part as Name]);
    this.#origin.replaceChildren(...lines.map((line) => element("p", {}, ...withIndices(line))));
  }

  #showPicker({ inputs: { sizes }, head: shown }: Scene): void {
    const hadFocus = this.#picker.contains(document.activeElement);
    const buttons = Array.from({ length: sizes.numHeads }, (_, head) => {
      const pressed = String(head === shown);
      const node = element("button", { type: "button", "aria-pressed": pressed }, headLabel(head));
      node.onclick = () => this.#events.onHead(head);
      return node;
    });
    this.#picker.replaceChildren(...buttons);
    if (hadFocus) buttons[shown]!.focus();
  }
}

const PLACES = t`Every product stands at the corner of its factors (on a narrow screen, after them).`;
const HOW = t` Point at a number to see what made it; type over any number with a dashed frame, or paste a table of yours there.`;

/** What stands around a part's numbers. */
export function notesOf(name: Name, scene: Scene): GridNotes {
  const [rows, columns] = SHAPES[name];
  const shape = scene.form === "columns" ? ([columns, rows] as const) : ([rows, columns] as const);
  const isNamed = NAMED.has(name);
  return {
    name: nameOf(name, scene),
    shape: shapeWords(scene.inputs.sizes, shape),
    bins: { ...binOf(rows, "rows", scene), ...binOf(columns, "columns", scene) },
    // Weights are named by their keys: their queries stand in line with those of Q.
    ...(isNamed && name !== "masked" && name !== "p" && { rows: axisLabels(rows, scene) }),
    ...(isNamed && { columns: axisLabels(columns, scene) }),
  };
}

function binOf(extent: Extent, axis: "rows" | "columns", { inputs: { sizes } }: Scene) {
  return extent.startsWith("N·") ? { [axis]: extentOf(sizes, extent === "N·D" ? "D" : "O") } : {};
}

/** The first number to explain: the score of the room's finding. */
function telling({ parts }: Scene): { name: Name; cell: Cell } {
  const { row, column } = mostAsymmetric(parts.p);
  return { name: "raw", cell: { row, column } };
}
