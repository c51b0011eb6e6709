import { AttentionElement, type Listen } from "./attentionElement.js";
import { cellAt, moveInto, whole } from "./axis.js";
import {
  colourTable,
  KINDS,
  PALETTES,
  rampFor,
  type ColourTable,
  type Kind,
  type Palette,
  type Ramp,
} from "./colours.js";
import { csv } from "./csv.js";
import { Cursor, type Cell } from "./cursor.js";
import { define } from "./define.js";
import { saveFile } from "./download.js";
import { HeadStrip } from "./headStrip.js";
import { LABEL_SIZE, labelWidths } from "./labels.js";
import { make } from "./make.js";
import { MAP_CSS } from "./mapCss.js";
import { MapData, type Scene } from "./mapData.js";
import { mapLayout, type Labels, type MapLayout } from "./mapLayout.js";
import { isRangeName, readCell, readRange, readView, type MapView, type Range } from "./mapProperties.js";
import { fontOf, paintLabels } from "./paintLabels.js";
import { canvasOf, hatchPattern, paintBins, paintGaps, paintValues, type Plot } from "./painting.js";
import { readChoice, readFunction, readIndex } from "./property.js";
import type { Slice } from "./slices.js";
import { mapSvg } from "./svg.js";
import type { Theme } from "./theme.js";
import { named, number, percent, sentence, type CellReading } from "./words.js";
import { Zooming } from "./zooming.js";

/** The events of `<attention-map>`. web/docs/viz.md says when each is emitted. */
export interface AttentionMapEvents {
  readonly cellchange: CustomEvent<CellReading | null>;
  readonly celllock: CustomEvent<CellReading | null>;
  readonly headchange: CustomEvent<{ readonly head: number }>;
  readonly viewchange: CustomEvent<MapView>;
  readonly slices: CustomEvent<{ readonly done: number; readonly total: number }>;
  readonly sourceerror: CustomEvent<{ readonly error: unknown }>;
}

/** The largest height of the plot if the style sets none; in CSS pixels. */
const MAX_HEIGHT = 576;
const THUMBNAIL = 44;

/** Thumbnails are computed only if all heads together have at most this many numbers. */
const THUMBNAIL_NUMBERS = 2 ** 22;

/** The largest number of blocks along a side of an SVG file. */
const SVG_BLOCKS = 200;
const HINT = "Point at a cell, tap it, or use the arrow keys. Click or Enter locks it.";

/**
 * How many rows and columns a key moves the cursor. Infinity means the end. With Ctrl, Home and End go to the corners.
 */
const STEPS: Readonly<Record<string, readonly [rows: number, columns: number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-10, 0],
  PageDown: [10, 0],
  Home: [0, -Infinity],
  End: [0, Infinity],
  "Ctrl+Home": [-Infinity, -Infinity],
  "Ctrl+End": [Infinity, Infinity],
};

/**
 * `<attention-map>`: a heatmap of attention. Rows are queries, columns are keys. It shows one head at a time, and small
 * pictures of all heads. Register it with `AttentionMap.define()` or `defineElements()`. web/docs/viz.md describes it
 * in full.
 */
export class AttentionMap extends AttentionElement {
  static override readonly observedAttributes = [
    ...AttentionElement.observedAttributes,
    ...["kind", "head", "range", "palette", "values"],
  ];
  /** @internal */ protected static override readonly ownProperties = [
    ...AttentionElement.ownProperties,
    ...["kind", "head", "range", "palette", "values", "cell", "locked", "view", "describe"],
  ];

  /** Registers the element. Does nothing if the name is already registered. */
  static define(name = "attention-map", registry = customElements): void {
    define(name, this, registry);
  }

  declare addEventListener: Listen<AttentionMapEvents>;

  readonly #strip: HeadStrip = new HeadStrip((head) => this.#chooseHead(head));
  readonly #canvas = make("canvas", { "aria-hidden": "true" });
  readonly #cursor = new Cursor();
  readonly #plot = make("div", { part: "plot", class: "plot" }, this.#canvas, this.#cursor.element);
  readonly #readout = make("p", { part: "readout", class: "readout", role: "status" });
  readonly #bar = make("span", { class: "bar" });
  readonly #low = make("span");
  readonly #high = make("span");
  readonly #hiddenKey: HTMLElement = make("span", {}, make("span", { class: "swatch" }), "hidden");
  readonly #progress = make("span", { hidden: true });
  readonly #legend: HTMLElement = make(
    "div",
    { class: "legend", part: "legend" },
    make("span", {}, this.#low, this.#bar, this.#high),
    this.#hiddenKey,
    make("span", {}, "rows: queries, columns: keys"),
    this.#progress,
  );
  readonly #toolbar: HTMLElement = this.#makeToolbar();
  readonly #zooming: Zooming;

  #describe: ((reading: CellReading) => string) | undefined;
  #map: MapData | undefined;
  #layout: MapLayout | undefined;
  #look: { readonly theme: Theme; readonly ramp: Ramp } | undefined;
  /** A view that was set and not yet used. The extents and the size may not be known when it is set. */
  #nextView: MapView | undefined;
  #cell: Cell | null = null;
  #isLocked = false;
  #pointer: { readonly x: number; readonly y: number } | undefined;
  #pointerFrame = 0;

  constructor() {
    super(MAP_CSS);
    this.root.append(
      make("div", { class: "frame-all" }, this.#strip.element, this.#toolbar, this.#plot, this.#legend, this.#readout),
    );
    this.#zooming = new Zooming(this.#cursor.element, (byVisitor) => this.#viewChanged(byVisitor));
    this.#listen();
  }

  /** `"probs"`, the default: probabilities of at least 0; or `"scores"` of either sign. */
  get kind(): Kind {
    return KINDS.find((kind) => kind === this.getAttribute("kind")) ?? "probs";
  }
  set kind(kind: Kind) {
    this.reflect("kind", readChoice(this.localName, "kind", kind, KINDS));
  }

  /** The head that is shown, from 0. Default 0. */
  get head(): number {
    const head = Math.trunc(Number(this.getAttribute("head") ?? 0)) || 0;
    return Math.max(0, Math.min(head, (this.data?.heads ?? Infinity) - 1));
  }
  set head(head: number) {
    this.reflect("head", readIndex(this.localName, "head", head));
  }

  /** Which number gets the full colour. Default `"max"`. */
  get range(): Range {
    const range = this.getAttribute("range") ?? "max";
    if (isRangeName(range)) return range;
    const [low, high] = range.split(/[\s,]+/).map(Number);
    return Number.isFinite(low) && Number.isFinite(high) ? [low!, high!] : "max";
  }
  set range(range: Range) {
    const given = readRange(this.localName, range);
    this.reflect("range", typeof given === "object" ? given.join(" ") : given);
  }

  /** The colours of the map. Default `"auto"`: they fit the kind. */
  get palette(): Palette {
    return PALETTES.find((palette) => palette === this.getAttribute("palette")) ?? "auto";
  }
  set palette(palette: Palette) {
    this.reflect("palette", readChoice(this.localName, "palette", palette, PALETTES));
  }

  /** Whether numbers are printed into the cells that are large enough. Default false. */
  get values(): boolean {
    return this.hasAttribute("values");
  }
  set values(values: boolean) {
    this.toggleAttribute("values", values);
  }

  /** The cell under the cursor; null if there is none. */
  get cell(): Cell | null {
    return this.#cell && { ...this.#cell };
  }
  set cell(cell: Cell | null) {
    this.#cell = readCell(this.localName, cell);
    this.invalidate();
  }

  /** Whether the cursor stays on its cell when the pointer moves on. */
  get locked(): boolean {
    return this.#isLocked;
  }
  set locked(locked: boolean) {
    this.#isLocked = Boolean(locked);
    this.invalidate();
  }

  /** The visible part. A part that you set is widened to the proportions of the map. */
  get view(): MapView {
    if (this.#nextView) this.flush();
    const { rows, columns } = this.#zooming.sight;
    const [queries, keys] = [whole(rows), whole(columns)];
    return { queries: [queries.from, queries.to], keys: [keys.from, keys.to] };
  }
  set view(view: MapView) {
    this.#nextView = readView(this.localName, view);
    this.invalidate();
  }

  /** A function that writes the text for a cell. Default: a sentence in English. */
  get describe(): ((reading: CellReading) => string) | undefined {
    return this.#describe;
  }
  set describe(describe: ((reading: CellReading) => string) | undefined) {
    this.#describe = readFunction(this.localName, "describe", describe);
    this.invalidate();
  }

  /** Zooms in by a factor, around the middle of the view. */
  zoomBy(factor: number): void {
    this.#zooming.scaleBy(factor);
  }

  /** Shows the whole map. */
  resetView(): void {
    this.#zooming.reset();
  }

  /**
   * The view as the text of an SVG file.
   *
   * @throws Error if nothing is drawn.
   */
  toSVG(): string {
    this.flush();
    const { map, layout, theme } = this.#drawn();
    const sight = this.#zooming.sight;
    const scene = { head: this.head, sight, pixels: { rows: SVG_BLOCKS, columns: SVG_BLOCKS } };
    const title = `${this.label}: ${this.headName(this.head)}`;
    return mapSvg({ title, layout, sight, ...map.picture(scene), table: this.#table(), tokens: this.names, theme });
  }

  /**
   * The view as a PNG file.
   *
   * @param pixelRatio - Pixels of the file for each CSS pixel. Default 2.
   * @throws Error if nothing is drawn, or if the picture is too large.
   */
  toPNG({ pixelRatio = 2 }: { readonly pixelRatio?: number } = {}): Promise<Blob> {
    this.flush();
    const { layout, theme } = this.#drawn();
    const context = canvasOf(
      Math.round((layout.left + layout.width + layout.right) * pixelRatio),
      Math.round((layout.top + layout.height) * pixelRatio),
    );
    context.fillStyle = theme.surface;
    context.fillRect(0, 0, context.canvas.width, context.canvas.height);
    this.#paint(context, pixelRatio);
    return new Promise((resolve, reject) => {
      context.canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("toPNG: the picture is too large"))));
    });
  }

  /**
   * The exact numbers as comma-separated values. Hidden cells are empty.
   *
   * @param part - The rows and columns. Default: the view.
   * @throws Error if nothing is drawn.
   */
  async toCSV(part: Partial<MapView> = {}): Promise<string> {
    this.flush();
    const { data, map } = this.#drawn();
    const { queries, keys } = { ...this.view, ...part };
    const { head } = this;
    const answer = await data.rows(head, queries[0], queries[1]);
    const columns = range(keys[0], keys[1]);
    const header = ["", ...columns.map((key) => this.names.keys[key] ?? key)];
    const lines = range(queries[0], queries[1]).map((query, i) => [
      this.names.queries[query] ?? query,
      ...columns.map((key) => {
        const value = answer[i * data.keys + key]!;
        return value === -Infinity || map.rule?.(query, key, head) ? "" : value;
      }),
    ]);
    return csv([header, ...lines]);
  }

  /** @internal */ protected override attributeChanged(name: string): void {
    if (name === "kind" || name === "range") this.redraw();
  }

  /** @internal */ protected override dataChanged(): void {
    this.#map = this.slices && new MapData(this.slices, this.rule, this.kind, this.range === "row");
  }

  /** @internal */ protected override sliceCame(slice: Slice, rows: Float32Array): void {
    this.#map?.take(slice, rows);
    this.invalidate();
  }

  /** @internal */ protected override draw(): void {
    this.#toolbar.hidden = !this.controls;
    const isEmpty = !this.data || this.data.queries * this.data.keys * this.data.heads === 0 || this.clientWidth === 0;
    this.#plot.hidden = isEmpty;
    this.#legend.hidden = isEmpty;
    if (isEmpty) {
      this.#layout = undefined;
      this.#strip.show([], 0);
      this.#say(this.trouble ?? "Nothing to show yet.");
      return;
    }
    if (this.#cell && !contains(this.data!, this.#cell)) {
      this.#cell = null;
      this.#isLocked = false;
    }
    const theme = this.theme_.read();
    this.#look = { theme, ramp: rampFor(this.kind, this.palette, theme.surface) };
    this.#strip.show(
      range(0, this.data!.heads).map((head) => this.headName(head)),
      this.head,
    );
    this.#place();
    this.#wish();
    this.#paintScreen();
    this.#paintThumbnails();
    this.#showLegend();
    this.#showCursor();
  }

  // ——— layout

  #place(): void {
    const cells = { rows: this.data!.queries, columns: this.data!.keys };
    const maxHeight = Number.parseFloat(getComputedStyle(this.#cursor.element).maxHeight) || MAX_HEIGHT;
    const layout = mapLayout(cells, this.#plot.clientWidth, maxHeight, this.#labels());
    this.#layout = layout;
    this.#plot.style.height = `${layout.top + layout.height + 1}px`;
    this.#cursor.place(layout.left, layout.top, layout.width, layout.height);
    this.#cursor.describe(`${this.label}: ${this.headName(this.head)}, queries by keys`, cells);
    this.#zooming.resize(cells, layout.width, layout.height);
    if (!this.#nextView) return;
    const { queries: rows, keys: columns } = this.#nextView;
    this.#nextView = undefined;
    this.#zooming.show({ rows: { from: rows[0], to: rows[1] }, columns: { from: columns[0], to: columns[1] } });
  }

  #labels(): Labels {
    const { queries, keys } = this.data!;
    const context = this.#canvas.getContext("2d")!;
    context.font = fontOf(this.#look!.theme);
    const widthOf = (text: string) => context.measureText(text).width;
    return {
      queries: labelWidths(this.names.queries, queries, widthOf),
      keys: labelWidths(this.names.keys, keys, widthOf),
      areTokens: this.names.keys.length > 0,
    };
  }

  #viewChanged(byVisitor: boolean): void {
    this.#cursor.element.classList.toggle("enlarged", this.#zooming.isEnlarged);
    this.invalidate();
    if (byVisitor) this.emit("viewchange", this.view);
  }

  // ——— rows to compute

  #scene(pixelRatio: number): Scene {
    const { width, height } = this.#layout!;
    const pixels = { rows: height * pixelRatio, columns: width * pixelRatio };
    return { head: this.head, sight: this.#zooming.sight, pixels };
  }

  /** Asks for rows: first of the cell under the cursor, then of the view, then of small pictures if they are cheap. */
  #wish(): void {
    const map = this.#map!;
    const slices = this.slices!;
    const scene = this.#scene(devicePixelRatio);
    const needed = map.slicesOf(scene);
    const missing = () => needed.filter((slice) => !map.has(scene, slice));
    const ofCell = this.#cell ? slices.slicesOf(this.head, this.#cell.query, this.#cell.query + 1) : [];
    const before = missing().length;
    slices.want([...ofCell, ...missing(), ...this.#thumbnailSlices()]);
    const left = missing().length;
    if (before > 0 || !this.#progress.hidden) this.#showProgress(needed.length - left, needed.length);
  }

  #thumbnailSlices(): Slice[] {
    const { heads, queries, keys } = this.data!;
    if (heads < 2 || heads * queries * keys > THUMBNAIL_NUMBERS) return [];
    return range(0, heads).flatMap((head) => this.slices!.slicesOf(head, 0, queries));
  }

  #showProgress(done: number, total: number): void {
    this.#progress.hidden = done === total;
    this.#progress.textContent = `computed ${done} of ${total} slices`;
    this.emit("slices", { done, total });
  }

  // ——— painting

  #table(head = this.head): ColourTable {
    const { low, high } = this.#map!.summary(head);
    const { range, kind } = this;
    const [from, to] = endsOf(range, kind, low, high);
    return colourTable(this.#look!.ramp, from, to);
  }

  #paintScreen(): void {
    const layout = this.#layout!;
    const scale = devicePixelRatio;
    const width = this.#plot.clientWidth;
    const height = layout.top + layout.height + 1;
    this.#canvas.width = Math.round(width * scale);
    this.#canvas.height = Math.round(height * scale);
    Object.assign(this.#canvas.style, { width: `${width}px`, height: `${height}px` });
    this.#hiddenKey.hidden = !this.#paint(this.#canvas.getContext("2d")!, scale);
  }

  /** Paints the plot and the labels. Returns whether the plot has hidden cells. */
  #paint(context: CanvasRenderingContext2D, scale: number): boolean {
    const layout = this.#layout!;
    const { theme } = this.#look!;
    const scene = this.#scene(scale);
    const { bins, block } = this.#map!.picture(scene);
    const plot: Plot = {
      left: Math.round(layout.left * scale),
      top: Math.round(layout.top * scale),
      width: Math.round(layout.width * scale),
      height: Math.round(layout.height * scale),
      sight: scene.sight,
    };
    const table = this.#table();
    context.fillStyle = theme.surface;
    context.fillRect(plot.left, plot.top, plot.width, plot.height);
    const hasHidden = paintBins(context, plot, bins, block, table, hatchPattern(context, theme.hatch, scale));
    paintGaps(context, plot, theme.surface, Math.max(1, Math.round(scale)));
    if (this.values && block.rows * block.columns === 1) {
      context.font = `${LABEL_SIZE * scale}px ${theme.fontFamily}`;
      const unit = this.#map!.inUnits ? this.#map!.summary(scene.head) : undefined;
      paintValues(context, plot, bins, table, (value, row) => brief(value * (unit?.unitOf(row) ?? 1)), scale);
    }
    context.strokeStyle = theme.line;
    context.lineWidth = scale;
    context.strokeRect(plot.left - scale / 2, plot.top - scale / 2, plot.width + scale, plot.height + scale);
    context.save();
    context.scale(scale, scale);
    paintLabels(context, layout, scene.sight, this.names, theme);
    context.restore();
    return hasHidden;
  }

  #paintThumbnails(): void {
    const { heads, queries, keys } = this.data!;
    if (heads < 2) return;
    const side = Math.round(THUMBNAIL * devicePixelRatio);
    const sight = { rows: { from: 0, to: queries }, columns: { from: 0, to: keys } };
    const plot = { left: 0, top: 0, width: side, height: side, sight };
    for (const head of range(0, heads)) {
      const canvas = this.#strip.canvas(head);
      const summary = this.#map!.summary(head);
      if (!summary.hasSeen(sight.rows)) continue;
      canvas.width = canvas.height = side;
      Object.assign(canvas.style, { width: `${THUMBNAIL}px`, height: `${THUMBNAIL}px` });
      const { bins, block } = this.#map!.picture({ head, sight, pixels: { rows: side, columns: side } });
      const context = canvas.getContext("2d")!;
      const hatch = hatchPattern(context, this.#look!.theme.hatch, devicePixelRatio);
      paintBins(context, plot, bins, block, this.#table(head), hatch);
    }
  }

  #showLegend(): void {
    const { low, high } = this.#table();
    const { ramp } = this.#look!;
    const stops = range(0, 17).map((i) => ramp(i / 16));
    this.#bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    const isRow = this.range === "row";
    this.#low.textContent = isRow && low < 0 ? "−row maximum" : this.#amount(low);
    this.#high.textContent = isRow ? "row maximum" : this.#amount(high);
  }

  #amount(value: number): string {
    return this.kind === "probs" ? percent(value) : number(value);
  }

  // ——— the cell under the cursor

  #reading(): CellReading | null {
    if (!this.#cell || !this.#map) return null;
    const { query, key } = this.#cell;
    const { head } = this;
    const hidden = this.#map.isHidden(head, query, key);
    const value = this.slices!.row(head, query)?.[key];
    return { head, query, key, value, hidden, locked: this.#isLocked };
  }

  #showCursor(): void {
    const reading = this.#reading();
    const text = reading ? (this.#describe ?? ((r: CellReading) => sentence(r, this.kind, this.names)))(reading) : HINT;
    this.#say(this.trouble ?? text);
    const { names } = this;
    const texts = {
      query: reading ? named("query", names.queries, reading.query) : "",
      key: reading ? named("key", names.keys, reading.key) : "",
      cell: text,
    };
    const layout = this.#layout!;
    const right = this.#plot.clientWidth - layout.left - layout.width;
    this.#cursor.show(this.#cell, texts, { ...layout, right, sight: this.#zooming.sight }, this.#isLocked);
  }

  #say(text: string): void {
    this.#readout.classList.toggle("trouble", this.trouble !== undefined);
    if (this.#readout.textContent !== text) this.#readout.textContent = text;
  }

  /** Moves the cursor and emits an event. A cell that the pointer only passes over is not read aloud. */
  #read(cell: Cell | null, isAloud: boolean): void {
    if (cell?.query === this.#cell?.query && cell?.key === this.#cell?.key) return;
    this.#cell = cell;
    this.#readout.setAttribute("aria-live", isAloud ? "polite" : "off");
    if (cell && !this.slices!.row(this.head, cell.query)) this.#wish();
    this.#showCursor();
    this.emit("cellchange", this.#reading());
  }

  #lock(isLocked: boolean): void {
    this.#isLocked = isLocked;
    this.#readout.setAttribute("aria-live", "polite");
    this.#showCursor();
    this.emit("celllock", this.#reading());
  }

  #chooseHead(head: number): void {
    if (head === this.head) return;
    this.head = head;
    this.emit("headchange", { head });
  }

  // ——— pointer and keyboard

  #listen(): void {
    const grid = this.#cursor.element;
    grid.addEventListener("pointermove", (event) => this.#pointed(event));
    grid.addEventListener("pointerleave", () => {
      this.#pointer = undefined;
      if (!this.#isLocked && this.root.activeElement !== grid) this.#read(null, false);
    });
    grid.addEventListener("click", (event) => this.#clicked(event));
    grid.addEventListener("keydown", (event) => this.#keyPressed(event));
    grid.addEventListener("focus", () => {
      if (!this.#cell && this.data && grid.matches(":focus-visible")) this.#read(this.#firstCell(), true);
    });
    grid.addEventListener("blur", () => {
      if (!this.#isLocked && !this.#pointer) this.#read(null, false);
    });
  }

  /** Handles pointer moves at most once in an animation frame. */
  #pointed(event: PointerEvent): void {
    this.#pointer = { x: event.offsetX, y: event.offsetY };
    if (this.#isLocked || this.#zooming.isDragging || event.pointerType === "touch") return;
    if (this.#pointerFrame !== 0) return;
    this.#pointerFrame = requestAnimationFrame(() => {
      this.#pointerFrame = 0;
      const cell = this.#pointer && this.#cellUnder(this.#pointer.x, this.#pointer.y);
      if (cell) this.#read(cell, false);
    });
  }

  #clicked(event: MouseEvent): void {
    this.#cursor.element.focus({ preventScroll: true });
    const cell = this.#cellUnder(event.offsetX, event.offsetY);
    if (!cell) return;
    const isSame = cell.query === this.#cell?.query && cell.key === this.#cell.key;
    const unlocks = this.#isLocked && isSame;
    this.#read(cell, true);
    this.#lock(!unlocks);
  }

  #cellUnder(x: number, y: number): Cell | undefined {
    if (!this.#layout) return undefined;
    const { rows, columns } = this.#zooming.sight;
    const key = cellAt(x, columns, this.#layout.width);
    const query = cellAt(y, rows, this.#layout.height);
    return key === undefined || query === undefined ? undefined : { query, key };
  }

  #firstCell(): Cell {
    const { queries, keys } = this.view;
    return { query: queries[0], key: keys[0] };
  }

  #keyPressed(event: KeyboardEvent): void {
    if (event.altKey || event.metaKey || !this.data) return;
    const step = STEPS[event.ctrlKey ? `Ctrl+${event.key}` : event.key];
    const act = step ? () => this.#step(step) : event.ctrlKey ? undefined : this.#actions[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  readonly #actions: Readonly<Record<string, () => void>> = {
    Enter: () => this.#lock(!this.#isLocked),
    " ": () => this.#lock(!this.#isLocked),
    Escape: () => this.#lock(false),
    "+": () => this.zoomBy(2),
    "=": () => this.zoomBy(2),
    "-": () => this.zoomBy(1 / 2),
    "0": () => this.resetView(),
    "[": () => this.#chooseHead(Math.max(this.head - 1, 0)),
    "]": () => this.#chooseHead(Math.min(this.head + 1, this.data!.heads - 1)),
  };

  #step([rows, columns]: readonly [number, number]): void {
    const { queries, keys } = this.data!;
    const { query, key } = this.#cell ?? this.#firstCell();
    const cell = { query: clamped(query + rows, queries), key: clamped(key + columns, keys) };
    const { sight } = this.#zooming;
    this.#zooming.moveBy(moveInto(cell.query, sight.rows), moveInto(cell.key, sight.columns));
    this.#read(cell, true);
  }

  #makeToolbar(): HTMLElement {
    const button = (text: string, title: string, act: () => unknown) => {
      const element = make("button", { type: "button", title, "aria-label": title }, text);
      element.addEventListener("click", () => void act());
      return element;
    };
    const save = (kind: string, content: BlobPart | Promise<BlobPart>, type: string) =>
      Promise.resolve(content).then((part) =>
        saveFile(`${this.label}, ${this.headName(this.head)}.${kind}`, new Blob([part], { type })),
      );
    return make(
      "div",
      { part: "toolbar", class: "toolbar", role: "toolbar", "aria-label": "Map" },
      button("−", "Zoom out", () => this.zoomBy(1 / 2)),
      button("+", "Zoom in", () => this.zoomBy(2)),
      button("Fit", "Fit all of it", () => this.resetView()),
      make("span", { class: "spring" }),
      button("SVG", "Save the view as SVG", () => save("svg", this.toSVG(), "image/svg+xml")),
      button("PNG", "Save the view as PNG", () => save("png", this.toPNG(), "image/png")),
      button("CSV", "Save the numbers in view as CSV", () => save("csv", this.toCSV(), "text/csv")),
    );
  }

  #drawn() {
    if (!this.data || !this.#map || !this.#layout) throw new Error("attention-map: there is nothing to save yet");
    return { data: this.data, map: this.#map, layout: this.#layout, theme: this.#look!.theme };
  }
}

function endsOf(range: Range, kind: Kind, low: number, high: number): readonly [number, number] {
  if (typeof range !== "string") return range;
  const most = range === "max" ? Math.max(Math.abs(high), kind === "scores" ? Math.abs(low) : 0) : 1;
  return kind === "scores" ? [-most, most] : [0, most];
}

function contains(
  { queries, keys }: { readonly queries: number; readonly keys: number },
  { query, key }: Cell,
): boolean {
  return query < queries && key < keys;
}

/** A number with two decimals: a cell has no room for more. */
function brief(value: number): string {
  return value.toFixed(2).replace("-", "−");
}

const clamped = (index: number, extent: number) => Math.min(Math.max(index, 0), extent - 1);
const range = (from: number, to: number) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);

declare global {
  interface HTMLElementTagNameMap {
    "attention-map": AttentionMap;
  }
}
