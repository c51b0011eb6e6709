// Runs in the page of react.test.ts: scenes with components of headwise/react. Each gives what was seen.

import { createAttention, HeadwiseError, type Attention, type FloatTensorLike } from "headwise";
import {
  AttentionMap,
  AttentionProvider,
  useAttention,
  type AttentionMapProps,
  type UseAttentionOptions,
} from "headwise/react";
import { type AttentionMap as MapElement } from "headwise/viz";
import { Component, createElement, createRef, StrictMode, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { createRoot, hydrateRoot, type Root } from "react-dom/client";
import { renderToString } from "react-dom/server";

/** Two tokens that see themselves with the weight e : 1. */
const TOKENS = [
  [1, 0],
  [0, 1],
];
const RESULT = { output: true, probs: true } as const;

/** A place in the page, and a root in it that renders what it is given. */
function newRoot(): { readonly place: HTMLElement; readonly root: Root } {
  const place = document.body.appendChild(document.createElement("div"));
  return { place, root: createRoot(place) };
}

const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));

async function until(isTrue: () => unknown): Promise<void> {
  while (!isTrue()) await frame();
}

/** A function that makes instances whose calls are recorded. While `isHeld`, no call begins. */
function recording() {
  const seen = { created: 0, disposed: 0, computed: 0, signals: [] as AbortSignal[], isHeld: false };
  const create = async (): Promise<Attention> => {
    ++seen.created;
    const hw = await createAttention({ backend: "wasm", threads: 1 });
    const attend = hw.scaledDotProductAttention.bind(hw) as (...given: unknown[]) => Promise<unknown>;
    const dispose = hw.dispose.bind(hw);
    hw.dispose = () => {
      ++seen.disposed;
      dispose();
    };
    hw.scaledDotProductAttention = (async (...given: unknown[]) => {
      seen.signals.push((given[3] as { signal: AbortSignal }).signal);
      await until(() => !seen.isHeld);
      const result = await attend(...given);
      ++seen.computed;
      return result;
    }) as Attention["scaledDotProductAttention"];
    return hw;
  };
  return { seen, create };
}

type Given = FloatTensorLike | null | undefined;

/** What a component has rendered, in order, each state once. */
class Log {
  readonly states: string[] = [];
  renders = 0;

  /** Calls the hook and tells what it gives: the first weight, the error's code, whether it loads or computes. */
  readonly Probe = ({ tokens, options }: { tokens: Given; options?: UseAttentionOptions }) => {
    const { data, error, isLoading, isComputing, report } = useAttention(tokens, tokens, tokens, {
      returns: RESULT,
      ...options,
    });
    const weight = data?.probs?.data[0]?.toFixed(2) ?? "none";
    const trouble = HeadwiseError.is(error) ? error.code : error?.message;
    const parts = [weight, trouble, isLoading && "loading", isComputing && "computing", report?.backend];
    const state = parts.filter((part) => part !== undefined && part !== false).join(" ");
    ++this.renders;
    if (this.states.at(-1) !== state) this.states.push(state);
    return null;
  };
}

/** Shows the message of an error instead of what has thrown it. */
class Boundary extends Component<{ readonly children: ReactNode }, { readonly message?: string }> {
  override state: { readonly message?: string } = {};
  static getDerivedStateFromError = ({ message }: Error) => ({ message });
  override render() {
    return this.state.message ?? this.props.children;
  }
}

/** Whether the methods of the element are there, and have a picture. */
function isDrawn(element: MapElement): boolean {
  try {
    return element.toSVG().startsWith("<svg");
  } catch {
    return false;
  }
}

const scaled = (factor: number) => TOKENS.map((row) => row.map((x) => x * factor));

export const scenes = {
  async strictMode() {
    const { seen, create } = recording();
    const log = new Log();
    const { root } = newRoot();
    const probe = createElement(log.Probe, { tokens: TOKENS });
    root.render(createElement(StrictMode, null, createElement(AttentionProvider, { create }, probe)));
    await until(() => log.states.at(-1) === "0.67 wasm");
    root.unmount();
    await until(() => seen.disposed);
    const { created, computed, disposed } = seen;
    return { states: log.states, created, computed, disposed };
  },

  async inlineInputs() {
    const { seen, create } = recording();
    const log = new Log();
    const { root } = newRoot();
    const render = (factor: number) => {
      const tokens = { data: Float32Array.of(factor, 0, 0, factor), shape: [2, 2] };
      const probe = createElement(log.Probe, { tokens, options: { window: { left: 1 } } });
      flushSync(() => root.render(createElement(AttentionProvider, { create }, probe)));
    };
    for (let n = 0; n < 5; ++n) render(1);
    await until(() => log.states.at(-1) === "0.67 wasm");
    for (let n = 0; n < 5; ++n) render(1);
    render(2);
    await until(() => log.states.at(-1) === "0.94 wasm");
    root.unmount();
    return { computed: seen.computed, called: seen.signals.length };
  },

  async unmountedWhileComputing() {
    const { seen, create } = recording();
    seen.isHeld = true;
    const log = new Log();
    const { root } = newRoot();
    root.render(createElement(AttentionProvider, { create }, createElement(log.Probe, { tokens: TOKENS })));
    await until(() => seen.signals.length);
    const renders = log.renders;
    root.unmount();
    const isAborted = seen.signals[0]!.aborted;
    seen.isHeld = false;
    await until(() => seen.disposed);
    return { isAborted, computed: seen.computed, renders: log.renders - renders, disposed: seen.disposed };
  },

  async changedInputs() {
    const { seen, create } = recording();
    const log = new Log();
    const { root } = newRoot();
    const render = (tokens: Given) =>
      root.render(createElement(AttentionProvider, { create }, createElement(log.Probe, { tokens })));
    render(TOKENS);
    await until(() => log.states.at(-1) === "0.67 wasm");
    seen.isHeld = true;
    render(scaled(2));
    await until(() => seen.signals.length === 2);
    render(scaled(3));
    await until(() => seen.signals.length === 3);
    const aborted = seen.signals.slice(1).map((signal) => signal.aborted);
    seen.isHeld = false;
    await until(() => log.states.at(-1) === "1.00 wasm");
    root.unmount();
    return { states: log.states, aborted, computed: seen.computed };
  },

  async errors() {
    const { create } = recording();
    const log = new Log();
    const { root } = newRoot();
    const render = (tokens: Given, options: object = {}) =>
      root.render(createElement(AttentionProvider, { create }, createElement(log.Probe, { tokens, options })));
    render(TOKENS, { kvLayout: "BSE", numHeads: 3 });
    await until(() => log.states.at(-1)?.startsWith("none INVALID"));
    render(TOKENS);
    await until(() => log.states.at(-1) === "0.67 wasm");
    for (const name of ["signal", "onProgress", "into", "location"]) {
      render(TOKENS, { [name]: "given" });
      await until(() => log.states.at(-1) === "0.67 INVALID_OPTION wasm");
      render(TOKENS);
      await until(() => log.states.at(-1) === "0.67 wasm");
    }
    root.unmount();
    return log.states.slice(0, 4);
  },

  async lostEngine() {
    const { create } = recording();
    let fails = true;
    const log = new Log();
    const { root } = newRoot();
    const failing = () => (fails ? Promise.reject(new Error("no network")) : create());
    const render = (tokens: Given) =>
      root.render(createElement(AttentionProvider, { create: failing }, createElement(log.Probe, { tokens })));
    render(TOKENS);
    await until(() => log.states.at(-1) === "none no network");
    fails = false;
    render(scaled(2));
    await until(() => log.states.at(-1) === "0.94 wasm");
    root.unmount();
    return log.states;
  },

  async absentInputs() {
    const { seen, create } = recording();
    const log = new Log();
    const { root } = newRoot();
    const render = (tokens: Given) =>
      flushSync(() => root.render(createElement(AttentionProvider, { create }, createElement(log.Probe, { tokens }))));
    render(undefined);
    const { created } = seen;
    render(TOKENS);
    await until(() => log.states.at(-1) === "0.67 wasm");
    render(null);
    root.unmount();
    return { created, states: log.states, called: seen.signals.length };
  },

  /** The weights that a component without values shows, with `undefined` and with null. */
  async withoutValues() {
    const { create } = recording();
    const { root, place } = newRoot();
    const Weights = () => {
      const results = [undefined, null].map((value) =>
        useAttention(TOKENS, TOKENS, value, { returns: { output: false, probs: true } }),
      );
      return results.map(({ data, isLoading }) => (isLoading ? "…" : data?.probs.data[0]?.toFixed(2))).join(" ");
    };
    flushSync(() => root.render(createElement(AttentionProvider, { create }, createElement(Weights))));
    await until(() => !place.textContent.includes("…"));
    const shown = place.textContent;
    root.unmount();
    return shown;
  },

  /** Components under two roots, without a provider: they use the instance of the page. */
  async shared() {
    let instances = 0;
    const { instantiate } = WebAssembly;
    WebAssembly.instantiate = ((...given: Parameters<typeof instantiate>) => {
      instances += Number(!("primary" in given[1]!)); // the late part belongs to the instance that it imports
      return instantiate(...given);
    }) as typeof instantiate;
    const logs = [new Log(), new Log()] as const;
    const roots = logs.map(() => newRoot().root);
    logs.forEach(({ Probe }, n) => roots[n]!.render(createElement(Probe, { tokens: scaled(n + 1) })));
    await until(() => logs.every(({ states }) => states.at(-1)?.includes("wasm")));
    roots[0]!.unmount();
    roots[1]!.render(createElement(logs[1].Probe, { tokens: scaled(3) }));
    await until(() => logs[1].states.at(-1)?.startsWith("1.00"));
    roots[1]!.unmount();
    WebAssembly.instantiate = instantiate;
    return { instances, states: logs.map(({ states }) => states.at(-1)) };
  },

  async map() {
    const { place, root } = newRoot();
    const ref = createRef<MapElement>();
    const heads: number[] = [];
    const probs = { data: Float32Array.of(1, 0, 0.5, 0.5, 1, 0, 0.25, 0.75), shape: [2, 2, 2] };
    const render = (props: AttentionMapProps) => {
      const onHeadChange: AttentionMapProps["onHeadChange"] = ({ detail }) => heads.push(detail.head);
      root.render(createElement(AttentionMap, { ref, probs, onHeadChange, className: "wide", ...props }));
    };
    render({ tokens: ["a", "b"], keyTokens: ["c", "d"], causal: true, head: 1, style: { width: 300 } });
    await until(() => ref.current);
    const element = ref.current!;
    const read = () => ({
      ...{ queries: element.queryTokens, keys: element.keyTokens, causal: element.causal, head: element.head },
      ...{ shape: element.probs?.shape, rows: element.source?.queries },
    });
    const first = read();
    await until(() => isDrawn(element));
    element.dispatchEvent(new CustomEvent("headchange", { detail: { head: 0 } }));
    element.head = 0; // as a visitor does
    render({ tokens: ["e", "f"], keyTokens: ["c", "d"], head: 1 });
    await until(() => element.queryTokens[0] === "e");
    const second = read();
    const source = { heads: 1, queries: 2, keys: 2, rows: () => new Float32Array(4) };
    render({ probs: undefined, source, tokens: ["e", "f"] });
    await until(() => element.source);
    const third = read();
    render({});
    await until(() => element.probs);
    const fourth = read();
    const markup = place.firstElementChild!.outerHTML;
    root.unmount();
    return { first, second, third, fourth, heads, markup, gone: ref.current };
  },

  /** The markup of a map with attributes, without them, and with others. */
  attributes() {
    const { place, root } = newRoot();
    const markups = [
      { title: "Layer 1", id: "map", translate: "no", hidden: true, tabIndex: 0 } as const,
      { title: undefined, hidden: false },
      { title: "Layer 2", lang: "en" },
      {},
    ].map((attributes) => {
      flushSync(() => root.render(createElement(AttentionMap, attributes)));
      return place.innerHTML;
    });
    root.unmount();
    return markups;
  },

  async refusedOptions() {
    const { create } = recording();
    const { place, root } = newRoot();
    const Page = () => useAttention(TOKENS, TOKENS, TOKENS, null as never).error?.message;
    root.render(createElement(AttentionProvider, { create }, createElement(Page)));
    await until(() => place.textContent);
    const seen = place.textContent;
    root.unmount();
    return seen;
  },

  async refusedProperty() {
    const { place, root } = newRoot();
    const map = createElement(AttentionMap, { palette: "rainbow" as "auto" });
    root.render(createElement(Boundary, null, map));
    await until(() => place.textContent);
    return place.textContent;
  },

  async hydration() {
    const probs = { data: Float32Array.of(1, 0, 0.5, 0.5), shape: [2, 2] };
    const Page = () => {
      const { isLoading, data } = useAttention(TOKENS, TOKENS, TOKENS);
      const map = createElement(AttentionMap, { probs, tokens: ["a", "b"], label: "Layer 1", className: "wide" });
      return createElement("main", null, isLoading ? "loading" : data?.output.shape.join(" × "), map);
    };
    const place = document.body.appendChild(document.createElement("div"));
    place.innerHTML = renderToString(createElement(Page));
    const server = place.innerHTML;
    const troubles: string[] = [];
    const root = hydrateRoot(place, createElement(Page), {
      onRecoverableError: (error) => troubles.push(String(error)),
    });
    await until(() => place.textContent === "2 × 2");
    const label = place.querySelector<MapElement>("attention-map")!.label;
    root.unmount();
    return { server, label, troubles };
  },
};

export type Scenes = typeof scenes;
