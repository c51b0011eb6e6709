import type { Optional } from "../read/withDefaults.js";
import { AttentionElement, type Listen } from "./attentionElement.js";
import type { Span } from "./bins.js";
import { headColours } from "./colours.js";
import { define } from "./define.js";
import { HeadChips } from "./headChips.js";
import { HEADS_CSS, TOKEN_HEIGHT } from "./headsCss.js";
import { linkSentence, linksOf, type Link, type TokenSelection } from "./links.js";
import { make } from "./make.js";
import { isInSight, paintLinks, type LinkPlot } from "./paintLinks.js";
import { assigned } from "./property.js";
import type { AttentionSource } from "./source.js";
import { texts } from "./texts.js";
import { TokenColumn } from "./tokenColumn.js";
import { percent } from "./words.js";

/** The events of `<attention-heads>`. web/docs/viz.md says when each is emitted. */
export interface AttentionHeadsEvents {
  readonly headschange: CustomEvent<{ readonly enabled: readonly number[] }>;
  readonly tokenselect: CustomEvent<TokenSelection>;
  readonly thresholdchange: CustomEvent<{ readonly threshold: number }>;
  readonly sourceerror: CustomEvent<{ readonly error: unknown }>;
}

const THRESHOLD = 0.05;

/** The most lines that are drawn. More would be unreadable and slow. */
const MAX_LINKS = 5000;

const NONE: TokenSelection = { queries: [], keys: [] };

/** The slider has these steps. They are finer near zero, because most weights are small. */
const SLIDER_STEPS = 100;

/**
 * `<attention-heads>`: two columns of tokens with links between them. Each head has a colour; the opacity of a link is
 * its weight. Register it with `AttentionHeads.define()` or `defineElements()`. web/docs/viz.md describes it in full.
 */
export class AttentionHeads extends AttentionElement {
  static override readonly observedAttributes = [...AttentionElement.observedAttributes, "threshold"];
  /** @internal */ protected static override readonly ownProperties = [
    ...AttentionElement.ownProperties,
    ...["threshold", "enabled", "selection"],
  ];

  /** Registers the element. Does nothing if the name is already registered. */
  static define(name = "attention-heads", registry = customElements): void {
    define(name, this, registry);
  }

  declare addEventListener: Listen<AttentionHeadsEvents>;

  readonly #chips: HeadChips = new HeadChips((head, isAlone) => this.#toggle(head, isAlone));
  readonly #queries: TokenColumn = this.#column("query");
  readonly #keys: TokenColumn = this.#column("key");
  readonly #canvas = make("canvas", { "aria-hidden": "true" });
  readonly #scroll: HTMLDivElement = make(
    "div",
    { class: "scroll", part: "plot", hidden: true }, // until it is drawn: it would scroll and hold nothing to focus
    this.#queries.element,
    make("div", { class: "stage" }, this.#canvas),
    this.#keys.element,
  );
  readonly #slider = make("input", { type: "range", min: 0, max: SLIDER_STEPS, step: 1 });
  readonly #sliderLabel = make("span");
  readonly #sliderText = make("span");
  readonly #toolbar: HTMLDivElement = make(
    "div",
    { part: "toolbar", class: "toolbar" },
    make("label", {}, this.#sliderLabel, this.#slider, this.#sliderText),
  );
  readonly #readout = make("p", { part: "readout", class: "readout", role: "status" });

  #enabled: ReadonlySet<number> | undefined;
  #selection = NONE;
  #looked: TokenSelection | undefined;

  constructor() {
    super(HEADS_CSS);
    const parts = [this.#chips.element, this.#toolbar, this.#scroll, this.#readout];
    this.root.append(make("div", { class: "all", role: "group" }, ...parts));
    this.#scroll.addEventListener("scroll", () => this.invalidate());
    this.#slider.addEventListener("input", () => {
      this.threshold = (Number(this.#slider.value) / SLIDER_STEPS) ** 2;
      this.emit("thresholdchange", { threshold: this.threshold });
    });
    this.speakIfNew();
  }

  /** Links with a smaller weight are not drawn. Default 0.05. */
  get threshold(): number {
    const threshold = Number.parseFloat(this.getAttribute("threshold") ?? "");
    return threshold >= 0 && threshold < Infinity ? threshold : THRESHOLD;
  }
  set threshold(threshold: number | undefined) {
    const option = assigned(this.localName, "threshold", threshold);
    const given = option.number("threshold");
    if (given !== undefined && given < 0) throw option.refuse("threshold", "be at least 0");
    this.reflect("threshold", given);
  }

  /** The heads whose links are drawn. Default, and if set to undefined: all. */
  get enabled(): readonly number[] {
    const all = Array.from({ length: this.headCount ?? 0 }, (_, head) => head);
    return this.#enabled ? all.filter((head) => this.#enabled!.has(head)) : all;
  }
  set enabled(heads: readonly number[] | undefined) {
    const given = assigned(this.localName, "enabled", heads).integers("enabled", { min: 0 });
    this.#enabled = given && new Set(given);
    this.invalidate();
  }

  /** The selected tokens. Only links between them are drawn. A column without a selection counts as wholly selected. */
  get selection(): TokenSelection {
    return this.#selection;
  }
  set selection(selection: Optional<TokenSelection> | undefined) {
    this.#selection = readSelection(this.localName, selection);
    this.invalidate();
  }

  /** @internal */ protected override speak(): void {
    for (const part of [this.#chips, this.#queries, this.#keys]) part.speak();
    this.#sliderLabel.textContent = texts().threshold;
  }

  /** @internal */ protected override dataChanged(): void {
    this.#looked = undefined;
  }

  /** @internal */ protected override sliceCame(): void {
    this.invalidateUnlessDrawing();
  }

  /** @internal */ protected override draw(): void {
    if (this.clientWidth === 0) return; // hidden, or in a DOM without layout
    this.root.querySelector(".all")!.setAttribute("aria-label", this.label);
    this.#toolbar.hidden = !this.controls;
    const { heads = 0, queries = 0, keys = 0 } = this.data ?? {};
    const isEmpty = heads * queries * keys === 0;
    if (this.data) this.#selection = within(this.#selection, this.data);
    this.#scroll.hidden = isEmpty;
    this.#queries.show(this.names.queries, queries, this.#selection.queries);
    this.#keys.show(this.names.keys, keys, this.#selection.keys);
    const colours = headColours(heads, this.theme_.read().surface);
    this.#chips.show(
      colours.map((_, head) => this.headName(head)),
      colours,
      new Set(this.enabled),
    );
    this.#slider.value = String(Math.round(SLIDER_STEPS * Math.sqrt(this.threshold)));
    this.#slider.setAttribute("aria-valuetext", percent(this.threshold));
    this.#sliderText.textContent = percent(this.threshold);
    if (isEmpty) this.#say(texts().empty);
    else this.#drawLinks(colours);
  }

  #drawLinks(colours: readonly string[]): void {
    const plot = this.#plot();
    const { done, total } = this.#wish(plot);
    const selection = this.#looked ?? this.#selection;
    const { enabled: heads, threshold, rule } = this;
    const queries = { from: 0, to: this.data!.queries };
    const rowOf = (head: number, query: number) => this.slices!.row(head, query);
    const links = linksOf(rowOf, { heads, queries, selection, threshold, rule });
    const drawn = links.filter((link) => isInSight(link, plot)).slice(-MAX_LINKS);
    this.#paint(drawn, plot, heads, colours);
    this.#markLinked(drawn, selection);
    const said = [
      ...(links.length > 0 || done === total
        ? [linkSentence(links, selection, this.names, (head) => this.headName(head))]
        : []),
      ...(done < total ? [texts().computed(done, total)] : []),
    ];
    this.#say(said.join(" "));
  }

  #plot(): LinkPlot {
    const stage = this.#canvas.parentElement!;
    const { clientHeight: height, scrollTop: scrolled } = this.#scroll;
    return { width: stage.clientWidth, height, scrolled, tokenHeight: TOKEN_HEIGHT };
  }

  /**
   * Asks for rows of the heads that are on: the visible queries, or those of them that are selected. Rows beyond those
   * that are kept are not asked for: they would replace each other for ever.
   *
   * @returns How many slices of these rows are here, and how many there are.
   */
  #wish({ height, scrolled, tokenHeight }: LinkPlot): { readonly done: number; readonly total: number } {
    const { queries } = this.data!;
    const selected = (this.#looked ?? this.#selection).queries;
    const inSight: Span = {
      from: Math.floor(scrolled / tokenHeight),
      to: Math.min(Math.ceil((scrolled + height) / tokenHeight), queries),
    };
    const spans = selected.length > 0 ? selected.map((query) => ({ from: query, to: query + 1 })) : [inSight];
    const { enabled } = this;
    const slices = this.slices!;
    const needed = slices.once(
      spans.flatMap(({ from, to }) => enabled.flatMap((head) => slices.slicesOf(head, from, to))),
    );
    slices.want(needed.slice(0, slices.capacity));
    return { done: needed.filter((slice) => slices.has(slice)).length, total: needed.length };
  }

  #paint(links: readonly Link[], plot: LinkPlot, heads: readonly number[], colours: readonly string[]): void {
    const scale = devicePixelRatio;
    this.#canvas.width = Math.round(plot.width * scale);
    this.#canvas.height = Math.round(plot.height * scale);
    Object.assign(this.#canvas.style, { width: `${plot.width}px`, height: `${plot.height}px` });
    const context = this.#canvas.getContext("2d")!;
    context.scale(scale, scale);
    paintLinks(context, links, plot, heads, colours);
  }

  #markLinked(links: readonly Link[], { queries, keys }: TokenSelection): void {
    const isLooking = queries.length + keys.length > 0;
    this.#scroll.classList.toggle("looking", isLooking);
    this.#queries.mark(new Set([...(isLooking ? links.map(({ query }) => query) : []), ...queries]));
    this.#keys.mark(new Set([...(isLooking ? links.map(({ key }) => key) : []), ...keys]));
  }

  #say(text: string): void {
    this.#readout.classList.toggle("trouble", this.trouble !== undefined);
    const said = this.trouble ?? text;
    if (this.#readout.textContent !== said) this.#readout.textContent = said;
  }

  #toggle(head: number, isAlone: boolean): void {
    const on = this.enabled;
    const others = on.filter((other) => other !== head);
    if (!isAlone) this.enabled = others.length < on.length ? others : [...on, head];
    else this.enabled = on.length === 1 && others.length === 0 ? undefined : [head];
    this.emit("headschange", { enabled: this.enabled });
  }

  #column(side: "query" | "key"): TokenColumn {
    const axis = side === "query" ? "queries" : "keys";
    return new TokenColumn(side, {
      onLook: (token) => {
        this.#looked = token === undefined ? undefined : { ...NONE, [axis]: [token] };
        this.invalidate();
      },
      onSelect: (selected) => {
        this.selection = { ...this.#selection, [axis]: selected };
        this.emit("tokenselect", this.#selection);
      },
      onCross: (token) => (side === "query" ? this.#keys : this.#queries).focus(token),
    });
  }
}

function readSelection(element: string, value: unknown): TokenSelection {
  const given = assigned(element, "selection", value).object("selection", ["queries", "keys"]);
  const tokens = (axis: "queries" | "keys") => Object.freeze([...(given?.integers(axis, { min: 0 }) ?? [])]);
  return { queries: tokens("queries"), keys: tokens("keys") };
}

/** The part of a selection that exists in the data. */
function within({ queries, keys }: TokenSelection, extents: Pick<AttentionSource, "queries" | "keys">): TokenSelection {
  return {
    queries: queries.filter((query) => query < extents.queries),
    keys: keys.filter((key) => key < extents.keys),
  };
}

declare global {
  interface HTMLElementTagNameMap {
    "attention-heads": AttentionHeads;
  }
}
