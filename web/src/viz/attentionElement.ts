import { thrownText } from "../base/thrown.js";
import type { MaskLike, Tensor } from "../tensor/tensor.js";
import { watchPixelRatio } from "./pixelRatio.js";
import { readChoice, readFunction, readIndex, readText, readTexts } from "./property.js";
import { Slices, type Slice } from "./slices.js";
import { readSource, readTensor, tensorSource, type AttentionSource } from "./source.js";
import { offTexts, onTexts, texts, type VizTexts } from "./texts.js";
import { THEME_CSS, ThemeProbe, THEMES } from "./theme.js";
import { hiddenRule, type HiddenRule } from "./visibility.js";
import type { Tokens } from "./words.js";

/** How many bytes of rows an element keeps of a source. */
const KEPT_BYTES = 64 * 2 ** 20;

// Node has no HTMLElement. There the classes can be imported but not used.
const BaseElement = globalThis.HTMLElement ?? class {};

/**
 * The DOMs of test runners (jsdom, happy-dom) may lack these two features. They have no layout, so nothing is drawn
 * there.
 */
const LAYS_OUT = "ResizeObserver" in globalThis && "adoptedStyleSheets" in (globalThis.ShadowRoot?.prototype ?? {});

/** `addEventListener` that also knows the element's own events. */
export interface Listen<Events> {
  <K extends keyof Events>(
    type: K,
    listener: (event: Events[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  <K extends keyof HTMLElementEventMap>(
    type: K,
    listener: (event: HTMLElementEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  (type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

/** The base class of both elements: shared properties, when to draw, and changes of size and theme. */
export abstract class AttentionElement extends BaseElement {
  static readonly observedAttributes: readonly string[] = ["batch", "causal", "label", "controls", "theme"];
  /** @internal Properties that a page may have set before the element was defined. */
  protected static readonly ownProperties: readonly string[] = [
    ...["probs", "source", "batch", "tokens", "queryTokens", "keyTokens", "headNames", "causal", "mask", "isHidden"],
    ...["label", "controls", "theme"],
  ];

  /** @internal */ protected readonly root: ShadowRoot;
  /** @internal */ protected readonly theme_: ThemeProbe;
  /** @internal The numbers that are drawn, from `probs` or `source`. */
  protected data: AttentionSource | undefined;
  /** @internal */ protected slices: Slices | undefined;
  /** @internal */ protected rule: HiddenRule | undefined;
  /** @internal Why nothing can be drawn. */
  protected trouble: string | undefined;

  #probs: Tensor<"float32"> | undefined;
  #source: AttentionSource | undefined;
  #queryTokens: readonly string[] = [];
  #keyTokens: readonly string[] = [];
  #headNames: readonly string[] = [];
  #mask: MaskLike | undefined;
  // As they were read when they were set.
  #readProbs: Tensor<"float32"> | undefined;
  #readSource: AttentionSource | undefined;
  #readMask: Tensor | undefined;
  #isHidden: HiddenRule | undefined;
  #frame = 0;
  #isDataStale = true;
  #isDrawing = false;
  #said: VizTexts | undefined;
  readonly #css: string;
  readonly #resizing: ResizeObserver | undefined;
  /** Aborted when the element is disconnected. */
  #connection = new AbortController();

  constructor(css: string) {
    super();
    this.root = this.attachShadow({ mode: "open" });
    this.#css = THEME_CSS + css;
    if (LAYS_OUT) this.#resizing = new ResizeObserver(() => this.invalidate());
    this.theme_ = new ThemeProbe(() => this.invalidate());
    this.root.append(this.theme_.element);
  }

  /**
   * Attention probabilities or scores: float32 `[H, Sq, Skv]`, `[B, H, Sq, Skv]`, or `[Sq, Skv]` for one head. The
   * numbers are not copied. −∞ is a hidden cell. They replace `source`.
   *
   * @throws ShapeError or OptionError if it is set to anything else; undefined or null removes it.
   */
  get probs(): Tensor<"float32"> | undefined {
    return this.#probs;
  }
  set probs(probs: Tensor<"float32"> | undefined) {
    const given = probs ?? undefined;
    const read = given === undefined ? undefined : readTensor("probs", given, ["float32"]);
    if (read) tensorSource(read, 0); // throws here, so that the error has the caller's stack
    this.#probs = given;
    this.#readProbs = read;
    if (read) this.#source = this.#readSource = undefined;
    this.redraw();
  }

  /** A source that computes rows when they are needed. It replaces `probs`; undefined or null removes it. */
  get source(): AttentionSource | undefined {
    return this.#source;
  }
  set source(source: AttentionSource | undefined) {
    const given = source ?? undefined;
    this.#readSource = given === undefined ? undefined : readSource(given);
    this.#source = given;
    if (given) this.#probs = this.#readProbs = undefined;
    this.redraw();
  }

  /** Which batch of a `[B, H, Sq, Skv]` tensor is shown. Default 0. */
  get batch(): number {
    return Number(this.getAttribute("batch") ?? 0);
  }
  set batch(batch: number | undefined) {
    this.reflect("batch", readIndex(this.localName, "batch", batch));
  }

  /** The tokens of both axes. Reading it gives the tokens of the queries. */
  get tokens(): readonly string[] {
    return this.#queryTokens;
  }
  set tokens(tokens: readonly string[] | undefined) {
    this.#queryTokens = this.#keyTokens = readTexts(this.localName, "tokens", tokens);
    this.invalidate();
  }

  /** The tokens of the queries. */
  get queryTokens(): readonly string[] {
    return this.#queryTokens;
  }
  set queryTokens(tokens: readonly string[] | undefined) {
    this.#queryTokens = readTexts(this.localName, "queryTokens", tokens);
    this.invalidate();
  }

  /** The tokens of the keys. */
  get keyTokens(): readonly string[] {
    return this.#keyTokens;
  }
  set keyTokens(tokens: readonly string[] | undefined) {
    this.#keyTokens = readTexts(this.localName, "keyTokens", tokens);
    this.invalidate();
  }

  /** Names of the heads. A missing name is "head 0" and so on, or what `setTexts` says. */
  get headNames(): readonly string[] {
    return this.#headNames;
  }
  set headNames(names: readonly string[] | undefined) {
    this.#headNames = readTexts(this.localName, "headNames", names);
    this.invalidate();
  }

  /** Whether keys after the query are hidden (aligned lower right: key > query + Skv − Sq). Default false. */
  get causal(): boolean {
    return this.hasAttribute("causal");
  }
  set causal(causal: boolean | undefined) {
    this.toggleAttribute("causal", Boolean(causal));
  }

  /** Which cells are visible, as the option of calls: true or 1 = may attend; broadcast from the right to `[B, H, Sq, Skv]`. */
  get mask(): MaskLike | undefined {
    return this.#mask;
  }
  set mask(mask: MaskLike | undefined) {
    const given = mask ?? undefined;
    this.#readMask = given === undefined ? undefined : readTensor("mask", given, ["bool"]);
    this.#mask = given;
    this.redraw();
  }

  /** A function that says which cells are hidden, in addition to causal and mask. */
  get isHidden(): HiddenRule | undefined {
    return this.#isHidden;
  }
  set isHidden(rule: HiddenRule | undefined) {
    this.#isHidden = readFunction(this.localName, "isHidden", rule);
    this.redraw();
  }

  /** The name of the element for assistive technology. Default "Attention", or what `setTexts` says. */
  get label(): string {
    return this.getAttribute("label") || texts().attention;
  }
  set label(label: string | undefined) {
    this.reflect("label", readText(this.localName, "label", label));
  }

  /** Whether buttons and sliders are shown. Default false. */
  get controls(): boolean {
    return this.hasAttribute("controls");
  }
  set controls(controls: boolean | undefined) {
    this.toggleAttribute("controls", Boolean(controls));
  }

  /** `"light"`, `"dark"`, or null, the default: as the system prefers. */
  get theme(): "light" | "dark" | null {
    return THEMES.find((theme) => theme === this.getAttribute("theme")) ?? null;
  }
  set theme(theme: "light" | "dark" | null | undefined) {
    this.reflect("theme", readChoice(this.localName, "theme", theme, THEMES));
  }

  /** Draws the data again. Call it after you changed numbers in place, or to try a source again that failed. */
  redraw(): void {
    this.#isDataStale = true;
    this.invalidate();
  }

  connectedCallback(): void {
    const { ownProperties } = this.constructor as typeof AttentionElement;
    const refusals = ownProperties.flatMap((name) => this.#upgrade(name));
    this.#connection = new AbortController();
    if (LAYS_OUT) {
      this.#dress();
      watchPixelRatio(() => this.invalidate(), this.#connection.signal);
    }
    this.#resizing?.observe(this);
    onTexts(this.#hear);
    this.invalidate();
    if (refusals.length > 0) throw refusals[0];
  }

  disconnectedCallback(): void {
    this.#connection.abort();
    this.#resizing?.disconnect();
    offTexts(this.#hear);
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.slices?.close();
    this.#isDataStale = true;
  }

  attributeChangedCallback(name: string): void {
    if (name === "causal" || name === "batch") this.redraw();
    else this.attributeChanged(name);
    this.invalidate();
  }

  /** A root that moves to another document loses its style sheets: each belongs to one document. */
  #dress(): void {
    if (this.root.adoptedStyleSheets.length > 0) return;
    const { CSSStyleSheet } = this.ownerDocument.defaultView ?? window;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(this.#css);
    this.root.adoptedStyleSheets = [sheet];
  }

  /** @internal Called when an attribute of the subclass has changed. */
  protected attributeChanged(_name: string): void {}

  /** @internal Requests a drawing in the next animation frame. All changes until then share one drawing. */
  protected invalidate(): void {
    if (!this.isConnected) return;
    this.#frame ||= requestAnimationFrame(() => this.flush());
  }

  /** @internal As `invalidate`, for what the drawing itself may change: that is part of the same drawing. */
  protected invalidateUnlessDrawing(): void {
    if (!this.#isDrawing) this.invalidate();
  }

  /** @internal Draws at once, without waiting for an animation frame. */
  protected flush(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#isDrawing = true;
    try {
      this.speakIfNew();
      if (this.#isDataStale) this.#takeData();
      this.draw();
    } finally {
      this.#isDrawing = false; // a function of the page may have thrown
    }
  }

  /** @internal Sets an attribute; undefined removes it. */
  protected reflect(name: string, value: string | number | undefined): void {
    if (value === undefined) this.removeAttribute(name);
    else this.setAttribute(name, String(value));
  }

  /** @internal Whether the numbers were changed since they were drawn. */
  protected get isDataStale(): boolean {
    return this.#isDataStale;
  }

  /** @internal The heads of the numbers that are set, drawn or not; undefined if there are none. */
  protected get headCount(): number | undefined {
    return this.#readProbs ? tensorSource(this.#readProbs).heads : this.#readSource?.heads;
  }

  /** @internal */
  protected get names(): Tokens {
    return { queries: this.#queryTokens, keys: this.#keyTokens };
  }

  /** @internal */
  protected headName(head: number): string {
    return this.#headNames[head] || texts().head(head);
  }

  /** @internal */
  protected emit(type: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }

  readonly #hear = (): void => this.invalidate();

  /** @internal Says the fixed words if they have changed. A class calls it when it has made its parts. */
  protected speakIfNew(): void {
    if (this.#said === texts()) return;
    this.#said = texts();
    this.speak();
  }

  /** @internal Says the fixed words. */
  protected abstract speak(): void;
  /** @internal Called when the data have changed. */
  protected abstract dataChanged(): void;
  /** @internal */
  protected abstract draw(): void;
  /** @internal */
  protected abstract sliceCame(slice: Slice, rows: Float32Array): void;

  #takeData(): void {
    this.#isDataStale = false;
    this.slices?.close();
    this.data = undefined;
    this.slices = undefined;
    this.trouble = undefined;
    try {
      const data = this.#readProbs ? tensorSource(this.#readProbs, this.batch) : this.#readSource;
      const visibility = { causal: this.causal, mask: this.#readMask, isHidden: this.#isHidden };
      this.rule = data && hiddenRule(visibility, data, this.batch);
      this.data = data;
    } catch (error) {
      this.#fail(error);
    }
    const events = {
      onSlice: (slice: Slice, rows: Float32Array) => this.sliceCame(slice, rows),
      onError: (error: unknown) => this.#fail(error),
    };
    if (this.data) this.slices = new Slices(this.data, events, this.#probs ? Infinity : KEPT_BYTES);
    this.dataChanged();
  }

  #fail(error: unknown): void {
    this.trouble = messageOf(error);
    this.emit("sourceerror", { error });
    this.invalidateUnlessDrawing();
  }

  /**
   * A property that was set before the definition hides the accessor of the class. This sets it again through the
   * accessor. Returns the error if the accessor refuses the value.
   */
  #upgrade(name: string): unknown[] {
    if (!Object.hasOwn(this, name)) return [];
    const self = this as unknown as Record<string, unknown>;
    const value = self[name];
    delete self[name];
    try {
      self[name] = value;
    } catch (error) {
      return [error];
    }
    return [];
  }
}

/** The text for an error. Any value can be thrown. */
export function messageOf(error: unknown): string {
  try {
    if (error instanceof Error) return String(error.message);
  } catch {
    // a proxy may throw
  }
  return thrownText(error);
}
