import "./room.css";

import { button, choices, panel, toggle } from "../../shell/controls.js";
import { card, element, folded, scrollable } from "../../shell/element.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { save } from "../../shell/save.js";
import { barsOf } from "./bars.js";
import { benchChart, MOST_BARS } from "./chart.js";
import { gaps } from "./completeness.js";
import { csvOf, jsonOf } from "./exports.js";
import { engineWords, rowsOf, type Row } from "./rows.js";
import { fields } from "./settings.js";
import { EXAMPLE, Shelf } from "./shelf.js";
import { benchTable, MOST_ROWS } from "./table.js";
import { chartWords, finding } from "./words.js";
import { t } from "../../../texts/t.js";

export const room = makeRoom(fields, open);

/** More sentences than these are not shown. */
const MOST_GAPS = 40;

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  /** Draws although a file is still being fetched: a host may never answer. */
  let goOn = () => {};
  state.onChange(() => goOn());
  const shelf = new Shelf(
    () => {
      goOn();
      view.redraw();
    },
    (file) => {
      if (file === state.values.file) void shelf.fetch(file);
      else state.set({ file });
    },
  );
  const shapes = new NamedChoice("bench-shape", t`Shape`, t`all shapes`, (shape) => state.set({ shape }));
  const base = new NamedChoice("bench-divide-by", t`Divide by`, undefined, (to) => state.set({ to }));
  const about = element("p", { class: "hint" });
  const chart = element("div");
  const complete = element("div", { class: "bench-gaps", role: "status" });
  const table = scrollable(t`Times of all files`);
  let rows: readonly Row[] = [];
  let fetched = "";
  const encoded = (text: string) => new TextEncoder().encode(text);
  stage.append(
    panel(
      shapes.node,
      choices(state, "show", t`Show`, { time: t`times`, ratio: t`ratios` }),
      base.node,
      choices(state, "by", t`Order by`, { engine: t`engine`, device: t`device`, time: t`time` }),
      toggle(state, "log", t`Logarithmic`),
    ),
    card(t`Side by side`, about, chart),
    card(t`Files`, shelf.node),
    folded(t`Is it complete?`, complete),
    folded(
      t`All times`,
      table,
      element(
        "div",
        { class: "row" },
        button(t`Save bench.csv`, () => save("bench.csv", encoded(csvOf(rows)))),
        button(t`Save bench-rows.json`, () => save("bench-rows.json", encoded(jsonOf(rows)))),
      ),
    ),
  );
  view.onFiles((files) => void shelf.take(files));
  view.onDraw(async (settings) => {
    if (settings.file !== fetched) {
      fetched = settings.file;
      const change = new Promise<void>((resolve) => (goOn = resolve));
      if (fetched !== "") await Promise.race([shelf.fetch(fetched), change]);
    }
    rows = rowsOf(shelf.files);
    const engines = [...new Set(rows.map(({ engine }) => engine))];
    const names = [...new Set(rows.map(({ shape }) => shape))];
    // The address may name what no file has.
    const shape = names.includes(settings.shape) ? settings.shape : "";
    const to = engines.includes(settings.to) ? settings.to : (engines[0] ?? "");
    shapes.show(names, shape);
    base.show(engines, to, engineWords);
    base.node.hidden = settings.show === "time";
    const drawn = barsOf(rows, { ...settings, shape, to });
    view.finding(finding(rows, shelf.files.length, shelf.files.includes(EXAMPLE)));
    const count = drawn.reduce((sum, { bars }) => sum + bars.length, 0);
    const cut = count > MOST_BARS ? ` ${t`${MOST_BARS} of ${count} bars are drawn: choose a shape.`}` : "";
    about.textContent = chartWords({ ...settings, to }, drawn) + cut;
    chart.replaceChildren(benchChart(drawn, engines, settings.show === "ratio"));
    const shown = rows.filter((row) => shape === "" || row.shape === shape);
    const note = element("p", { class: "hint" }, t`${MOST_ROWS} of ${shown.length} rows are shown. The saved files have all.`); // oxfmt-ignore
    table.replaceChildren(benchTable(shown), ...(shown.length > MOST_ROWS ? [note] : []));
    complete.replaceChildren(...gapList(gaps(shelf.files), shelf.files.length));
  });
}

function gapList(found: readonly string[], files: number): HTMLElement[] {
  if (files === 0) return [element("p", {}, t`There is no file to check.`)];
  if (found.length === 0) return [element("p", {}, t`Nothing is missing: every shape was measured with every engine on every device.`)]; // oxfmt-ignore
  const rest = found.length - MOST_GAPS;
  const more = rest > 0 ? [element("li", {}, t`… and ${rest} more`)] : [];
  return [element("ul", {}, ...found.slice(0, MOST_GAPS).map((words) => element("li", {}, words)), ...more)];
}

/** A list whose options are those of the files. */
class NamedChoice {
  readonly node: HTMLElement;
  readonly #list: HTMLSelectElement;
  readonly #none: string | undefined;

  /** @param none - What the empty choice is called, if there is one. */
  constructor(id: string, label: string, none: string | undefined, choose: (name: string) => void) {
    this.#none = none;
    this.#list = element("select", { id });
    this.#list.onchange = () => choose(this.#list.value);
    this.node = element("div", { class: "control select" }, element("label", { for: id }, label), this.#list);
  }

  show(names: readonly string[], chosen: string, words = (name: string) => name): void {
    const option = (value: string, shown: string) => element("option", { value }, shown);
    const none = this.#none === undefined ? [] : [option("", this.#none)];
    const options = [...none, ...names.map((name) => option(name, words(name)))];
    const isSame = options.length === this.#list.length && options.every(({ value }, n) => this.#list.options[n]!.value === value); // oxfmt-ignore
    if (!isSame) this.#list.replaceChildren(...options); // an open list must stay
    this.#list.value = chosen;
  }
}
