import { UnsupportedError } from "../base/errors.js";
import { CallArguments } from "../read/callArguments.js";
import { AttentionElement, messageOf, type Listen } from "./attentionElement.js";
import { whole } from "./axis.js";
import type { ByAxis } from "./bins.js";
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
import { AxisTexts, widestLabel } from "./labels.js";
import { Legend } from "./legend.js";
import { make } from "./make.js";
import { MAP_CSS } from "./mapCss.js";
import { MapData, type Scene } from "./mapData.js";
import { mapLayout, type MapLayout } from "./mapLayout.js";
import { readFactor, readPart, readPixelRatio } from "./mapMethods.js";
import { isRangeName, readCell, readRange, readView, type MapView, type Range } from "./mapProperties.js";
import { MapToolbar } from "./mapToolbar.js";
import { fontOf } from "./paintLabels.js";
import { numbersIn, paintMap, paintThumbnail, type Drawn, type MapLook } from "./paintMap.js";
import { canvasOf } from "./painting.js";
import { Pointing } from "./pointing.js";
import { readChoice, readFunction, readIndex } from "./property.js";
import { Ruler } from "./ruler.js";
import type { Slice } from "./slices.js";
import { mapSvg } from "./svg.js";
import { texts } from "./texts.js";
import type { Theme } from "./theme.js";
import { Tooltip } from "./tooltip.js";
import { amount, named, sentence, shown, type CellReading } from "./words.js";
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

/** Room below the plot for its frame and for the outline of the focus, in CSS pixels. */
const OUTLINE = 4;

/** Thumbnails are computed only if all heads together have at most this many numbers. */
const THUMBNAIL_NUMBERS = 2 ** 22;

/** The largest side of a PNG file, in pixels. No browser has larger canvases. */
const MAX_SIDE = 32767;

/** The largest number of blocks along a side of an SVG file. */
const SVG_BLOCKS = 200;

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
  // Hidden until it is drawn: its grid would take the focus without a name.
  readonly #plot = make("div", { part: "plot", class: "plot", hidden: true }, this.#canvas, this.#cursor.element);
  readonly #readout = make("p", { part: "readout", class: "readout", role: "status" });
  readonly #tooltip = new Tooltip();
  readonly #legend = new Legend();
  readonly #toolbar: MapToolbar = new MapToolbar({
    zoomBy: (factor) => this.zoomBy(factor),
    resetView: () => this.resetView(),
    save: (kind) => this.#save(kind),
  });
  readonly #zooming: Zooming;
  readonly #pointing: Pointing;

  #describe: ((reading: CellReading) => string) | undefined;
  #map: MapData | undefined;
  #layout: MapLayout | undefined;
  #labels: ByAxis<AxisTexts> | undefined;
  #ruler: Ruler | undefined;
  #theme: { readonly colours: Theme; readonly ramp: Ramp } | undefined;
  /** A view that was set and not yet used. The extents and the size may not be known when it is set. */
  #nextView: MapView | undefined;

  constructor() {
    super(MAP_CSS);
    const { element: legend } = this.#legend;
    const parts = [this.#strip.element, this.#toolbar.element, this.#plot, legend, this.#readout];
    this.root.append(make("div", { class: "frame-all" }, ...parts, this.#tooltip.element));
    const grid = this.#cursor.element;
    this.#zooming = new Zooming(grid, (byVisitor) => this.#viewChanged(byVisitor));
    this.#pointing = new Pointing(grid, this.#zooming, {
      onCell: (cell, isAloud) => this.#cellChanged(cell, isAloud),
      onLock: () => this.#lockChanged(),
      onHead: (step) => this.#chooseHead(Math.min(Math.max(this.head + step, 0), this.data!.heads - 1)),
    });
    this.speakIfNew();
  }

  override connectedCallback(): void {
    super.connectedCallback();
    // a scrolled page moves the cell away from its tooltip, or out of sight
    addEventListener("scroll", this.#placeTooltip, { capture: true, passive: true });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("scroll", this.#placeTooltip, { capture: true });
  }

  /** `"probs"`, the default: probabilities of at least 0; or `"scores"` of either sign. */
  get kind(): Kind {
    return KINDS.find((kind) => kind === this.getAttribute("kind")) ?? "probs";
  }
  set kind(kind: Kind | undefined) {
    this.reflect("kind", readChoice(this.localName, "kind", kind, KINDS));
  }

  /** The head that is shown, from 0. Default 0. */
  get head(): number {
    const head = Math.trunc(Number(this.getAttribute("head") ?? 0)) || 0;
    return Math.max(0, Math.min(head, (this.headCount ?? Infinity) - 1));
  }
  set head(head: number | undefined) {
    this.reflect("head", readIndex(this.localName, "head", head));
  }

  /** Which number gets the full colour. Default `"max"`. */
  get range(): Range {
    const range = this.getAttribute("range") ?? "max";
    if (isRangeName(range)) return range;
    const [low = NaN, high = NaN] = range
      .trim()
      .split(/[\s,]+/)
      .map(Number);
    return Number.isFinite(low) && Number.isFinite(high) && low <= high ? [low, high] : "max";
  }
  set range(range: Range | undefined) {
    const given = readRange(this.localName, range);
    this.reflect("range", typeof given === "object" ? given.join(" ") : given);
  }

  /** The colours of the map. Default `"auto"`: they fit the kind. */
  get palette(): Palette {
    return PALETTES.find((palette) => palette === this.getAttribute("palette")) ?? "auto";
  }
  set palette(palette: Palette | undefined) {
    this.reflect("palette", readChoice(this.localName, "palette", palette, PALETTES));
  }

  /**
   * Whether numbers are printed into the cells, if these are large enough: probabilities in whole percents, scores with
   * two decimals. Default false.
   */
  get values(): boolean {
    return this.hasAttribute("values");
  }
  set values(values: boolean | undefined) {
    this.toggleAttribute("values", Boolean(values));
  }

  /** The cell under the cursor; null if there is none. */
  get cell(): Cell | null {
    const { cell } = this.#pointing;
    return cell && { ...cell };
  }
  set cell(cell: Cell | null | undefined) {
    this.#pointing.cell = readCell(this.localName, cell);
    this.invalidate();
  }

  /** Whether the cursor stays on its cell when the pointer moves on. */
  get locked(): boolean {
    return this.#pointing.isLocked;
  }
  set locked(locked: boolean | undefined) {
    this.#pointing.isLocked = Boolean(locked);
    this.invalidate();
  }

  /** The visible part. A part that you set is widened to the proportions of the map. */
  get view(): MapView {
    if (this.#nextView || this.isDataStale) this.flush();
    const { rows, columns } = this.#zooming.sight;
    const [queries, keys] = [whole(rows), whole(columns)];
    return { queries: [queries.from, queries.to], keys: [keys.from, keys.to] };
  }
  set view(view: MapView | undefined) {
    this.#nextView = readView(this.localName, view);
    this.invalidate();
  }

  /** A function that writes the text for a cell. Default: a sentence in English, or what `setTexts` says. */
  get describe(): ((reading: CellReading) => string) | undefined {
    return this.#describe;
  }
  set describe(describe: ((reading: CellReading) => string) | undefined) {
    this.#describe = readFunction(this.localName, "describe", describe);
    this.invalidate();
  }

  /**
   * Zooms in by a factor, around the middle of the view.
   *
   * @param factor - Above 0; below 1 zooms out.
   * @throws OptionError if the factor is anything else.
   */
  zoomBy(factor: number): void {
    this.#zooming.scaleBy(readFactor(this.#call("zoomBy"), factor));
  }

  /** Shows the whole map. */
  resetView(): void {
    this.#zooming.reset();
  }

  /**
   * The view as the text of an SVG file.
   *
   * @throws UnsupportedError if nothing is drawn.
   */
  toSVG(): string {
    const { map, look, head, sight } = this.#drawn("toSVG");
    const picture = map.picture({ head, sight, pixels: { rows: SVG_BLOCKS, columns: SVG_BLOCKS } });
    const numbers = this.values ? numbersIn(picture, sight, look, map, head) : undefined;
    return mapSvg({ title: `${this.label}: ${this.headName(head)}`, sight, ...look, ...picture, numbers });
  }

  /**
   * The view as a PNG file. The promise is rejected with an OptionError if an option is illegal, and with an
   * UnsupportedError if nothing is drawn or if the picture is too large.
   *
   * @param options - `pixelRatio`: pixels of the file for each CSS pixel, above 0. Default 2.
   */
  async toPNG(options: { readonly pixelRatio?: number | undefined } = {}): Promise<Blob> {
    const call = this.#call("toPNG");
    const pixelRatio = readPixelRatio(call, options);
    const { look } = this.#drawn("toPNG");
    const { left, right, top, width, height } = look.layout;
    const sides = [left + width + right, top + height].map((side) => Math.round(side * pixelRatio));
    const tooLarge = () =>
      new UnsupportedError(`${call.operation}: a picture of ${sides.join(" × ")} pixels is too large for this browser`);
    if (Math.max(...sides) > MAX_SIDE) throw tooLarge();
    const context = canvasOf(sides[0]!, sides[1]!);
    context.fillStyle = look.theme.surface;
    context.fillRect(0, 0, context.canvas.width, context.canvas.height);
    this.#paint(context, pixelRatio);
    return new Promise((resolve, reject) => {
      context.canvas.toBlob((blob) => (blob ? resolve(blob) : reject(tooLarge())));
    });
  }

  /**
   * The exact numbers as comma-separated values. Hidden cells are empty. The promise is rejected with an OptionError if
   * the part is illegal, and with an UnsupportedError if nothing is drawn.
   *
   * @param part - The rows and columns, `[from, to]` each. Default: those of the view.
   */
  async toCSV(part: { readonly [Axis in keyof MapView]?: MapView[Axis] | undefined } = {}): Promise<string> {
    const { data, map, head } = this.#drawn("toCSV");
    const { queries, keys } = { ...this.view, ...readPart(this.#call("toCSV"), part, data) };
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

  /** @internal */ protected override speak(): void {
    for (const part of [this.#strip, this.#toolbar, this.#legend]) part.speak();
  }

  /** @internal */ protected override dataChanged(): void {
    this.#map = this.slices && new MapData(this.slices, this.rule, this.kind, this.range === "row");
  }

  /** @internal */ protected override sliceCame(slice: Slice, rows: Float32Array): void {
    this.#map?.take(slice, rows);
    this.invalidateUnlessDrawing();
  }

  /** @internal */ protected override draw(): void {
    this.#toolbar.element.hidden = !this.controls;
    const isEmpty = !this.data || this.data.queries * this.data.keys * this.data.heads === 0 || this.clientWidth === 0;
    this.#plot.hidden = isEmpty;
    this.#legend.element.hidden = isEmpty;
    this.#toolbar.allowSaving(!isEmpty);
    if (isEmpty) {
      this.#layout = undefined;
      this.#tooltip.hide();
      this.#strip.show([], 0);
      this.#say(this.trouble ?? texts().empty);
      return;
    }
    const colours = this.theme_.read();
    this.#theme = { colours, ramp: rampFor(this.kind, this.palette, colours.surface) };
    this.#strip.show(
      range(0, this.data!.heads).map((head) => this.headName(head)),
      this.head,
    );
    this.#place();
    this.#pointing.checkCell();
    this.#wish();
    this.#showLegend(this.#paintScreen());
    this.#paintThumbnails();
    this.#showCursor();
  }

  // ——— layout

  #place(): void {
    const cells = { rows: this.data!.queries, columns: this.data!.keys };
    const maxHeight = Number.parseFloat(getComputedStyle(this.#cursor.element).maxHeight) || MAX_HEIGHT;
    const room = this.#plot.clientWidth;
    const font = fontOf(this.#theme!.colours);
    if (this.#ruler?.font !== font) this.#ruler = new Ruler(font);
    const { widthOf } = this.#ruler;
    const labels = {
      rows: new AxisTexts(this.names.queries, cells.rows, widestLabel(room), widthOf),
      columns: new AxisTexts(this.names.keys, cells.columns, widestLabel(room), widthOf),
    };
    const widths = { queries: labels.rows.widest, keys: labels.columns.widest, areTokens: labels.columns.areTokens };
    const layout = mapLayout(cells, room, maxHeight, widths);
    this.#labels = labels;
    this.#layout = layout;
    this.#plot.style.height = `${layout.top + layout.height + OUTLINE}px`;
    this.#cursor.place(layout.left, layout.top, layout.width, layout.height);
    this.#cursor.describe(texts().grid(this.label, this.headName(this.head)), cells);
    this.#zooming.resize(cells, layout.width, layout.height);
    if (!this.#nextView) return;
    const { queries: rows, keys: columns } = this.#nextView;
    this.#nextView = undefined;
    this.#zooming.show({ rows: { from: rows[0], to: rows[1] }, columns: { from: columns[0], to: columns[1] } });
  }

  #viewChanged(byVisitor: boolean): void {
    this.#cursor.element.classList.toggle("enlarged", this.#zooming.isEnlarged);
    this.invalidateUnlessDrawing();
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
    const { cell } = this.#pointing;
    const ofCell = cell ? slices.slicesOf(this.head, cell.query, cell.query + 1) : [];
    const before = missing().length;
    slices.want([...ofCell, ...missing(), ...this.#thumbnailSlices()]);
    const left = missing().length;
    if (before > 0 || this.#legend.isComputing) this.#showProgress(needed.length - left, needed.length);
  }

  #thumbnailSlices(): Slice[] {
    const { heads, queries, keys } = this.data!;
    if (heads < 2 || heads * queries * keys > THUMBNAIL_NUMBERS) return [];
    return range(0, heads).flatMap((head) => this.slices!.slicesOf(head, 0, queries));
  }

  #showProgress(done: number, total: number): void {
    this.#legend.progress(done, total);
    this.emit("slices", { done, total });
  }

  // ——— painting

  #table(head = this.head): ColourTable {
    const { low, high } = this.#map!.summary(head);
    const { range, kind } = this;
    const [from, to] = endsOf(range, kind, low, high);
    return colourTable(this.#theme!.ramp, from, to);
  }

  #look(): MapLook {
    return { layout: this.#layout!, labels: this.#labels!, table: this.#table(), theme: this.#theme!.colours };
  }

  #paintScreen(): Drawn {
    const layout = this.#layout!;
    const scale = devicePixelRatio;
    const width = this.#plot.clientWidth;
    const height = layout.top + layout.height + OUTLINE;
    this.#canvas.width = Math.round(width * scale);
    this.#canvas.height = Math.round(height * scale);
    Object.assign(this.#canvas.style, { width: `${width}px`, height: `${height}px` });
    return this.#paint(this.#canvas.getContext("2d")!, scale);
  }

  #paint(context: CanvasRenderingContext2D, scale: number): Drawn {
    const scene = this.#scene(scale);
    const map = this.#map!;
    const picture = map.picture(scene);
    const look = this.#look();
    const numbers = this.values ? numbersIn(picture, scene.sight, look, map, scene.head) : undefined;
    return paintMap(context, picture, scene.sight, look, numbers, scale);
  }

  #paintThumbnails(): void {
    const { heads } = this.data!;
    if (heads < 2) return;
    const { colours } = this.#theme!;
    for (const head of range(0, heads)) {
      paintThumbnail(this.#strip.canvas(head), this.#map!, head, this.#table(head), colours, THUMBNAIL);
    }
  }

  #showLegend({ hasHidden, hasNumbers }: Drawn): void {
    const { low, high } = this.#table();
    const isRow = this.range === "row";
    this.#legend.show(this.#theme!.ramp, {
      low: isRow && low < 0 ? `−${texts().rowMaximum}` : amount(low, this.kind),
      high: isRow ? texts().rowMaximum : amount(high, this.kind),
      hasHidden,
      unit: hasNumbers && this.kind === "probs" ? "%" : undefined,
    });
  }

  // ——— the cell under the cursor

  #reading(): CellReading | null {
    const { cell, isLocked: locked } = this.#pointing;
    if (!cell || !this.#map) return null;
    const { query, key } = cell;
    const { head } = this;
    const hidden = this.#map.isHidden(head, query, key);
    const value = this.slices!.row(head, query)?.[key];
    return { head, query, key, value, hidden, locked };
  }

  #showCursor(): void {
    if (!this.#layout) return; // nothing is drawn
    const reading = this.#reading();
    const said = reading && this.#describe?.(reading);
    this.#say(this.trouble ?? said ?? (reading ? sentence(reading, this.kind, this.names) : texts().hint));
    if (!reading) {
      this.#cursor.hide();
      this.#tooltip.hide();
      return;
    }
    const { queries, keys } = this.names;
    const layout = this.#layout;
    const { rows, columns } = this.#labels!;
    const told = {
      query: named("query", queries, reading.query),
      key: named("key", keys, reading.key),
      queryLabel: rows.of(reading.query),
      keyLabel: columns.of(reading.key),
      cell: said ?? sentence(reading, this.kind, this.names),
    };
    const right = this.#plot.clientWidth - layout.left - layout.width;
    this.#cursor.show(reading, told, { ...layout, right, sight: this.#zooming.sight }, reading.locked);
    if (said === null || said === undefined) this.#tooltip.say(shown(reading, this.kind), told.query, told.key);
    else this.#tooltip.sayOwn(said);
    this.#placeTooltip();
  }

  readonly #placeTooltip = (): void => {
    if (this.#pointing.cell && this.#layout) this.#tooltip.place(this.#cursor.frame, this.getBoundingClientRect());
  };

  #say(text: string, isTrouble = this.trouble !== undefined): void {
    this.#readout.classList.toggle("trouble", isTrouble);
    this.#readout.classList.toggle("how-to", text === texts().hint);
    if (this.#readout.textContent !== text) this.#readout.textContent = text;
  }

  /** A cell that the pointer only passes over is not read aloud. */
  #cellChanged(cell: Cell | null, isAloud: boolean): void {
    this.#readout.setAttribute("aria-live", isAloud ? "polite" : "off");
    if (cell && this.#layout && !this.slices!.row(this.head, cell.query)) this.#wish();
    this.#showCursor();
    this.emit("cellchange", this.#reading());
  }

  #lockChanged(): void {
    this.#readout.setAttribute("aria-live", "polite");
    this.#showCursor();
    this.emit("celllock", this.#reading());
  }

  #chooseHead(head: number): void {
    if (head === this.head) return;
    this.head = head;
    this.emit("headchange", { head });
  }

  // ——— files

  /** Saves a file, or says why it cannot. */
  async #save(kind: "svg" | "png" | "csv"): Promise<void> {
    const files = {
      svg: { type: "image/svg+xml", content: () => this.toSVG() },
      png: { type: "image/png", content: () => this.toPNG() },
      csv: { type: "text/csv", content: () => this.toCSV() },
    };
    const { type, content } = files[kind];
    try {
      saveFile(`${this.label}, ${this.headName(this.head)}.${kind}`, new Blob([await content()], { type }));
    } catch (error) {
      this.#readout.setAttribute("aria-live", "polite");
      this.#say(messageOf(error), true);
    }
  }

  #call(method: string): CallArguments {
    return new CallArguments(`${this.localName}.${method}`);
  }

  /** What is drawn now. */
  #drawn(method: string) {
    this.flush();
    if (!this.data || !this.#map || !this.#layout)
      throw new UnsupportedError(`${this.localName}.${method}: there is nothing to save yet`, {
        hint: "Set `probs` or `source` first. Nothing is drawn while the element has no width.",
      });
    return { data: this.data, map: this.#map, look: this.#look(), head: this.head, sight: this.#zooming.sight };
  }
}

function endsOf(range: Range, kind: Kind, low: number, high: number): readonly [number, number] {
  if (typeof range !== "string") return range;
  const most = range === "max" ? Math.max(Math.abs(high), kind === "scores" ? Math.abs(low) : 0) : 1;
  return kind === "scores" ? [-most, most] : [0, most];
}

const range = (from: number, to: number) => Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);

declare global {
  interface HTMLElementTagNameMap {
    "attention-map": AttentionMap;
  }
}
