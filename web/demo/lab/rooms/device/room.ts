import "./room.css";

import { attentionDifferences } from "../../engine/difference.js";
import { CASES, type BenchEngine, type BenchFigure } from "../../engine/bench.js";
import { button, panel, slider } from "../../shell/controls.js";
import { card, element, scrollable } from "../../shell/element.js";
import { number, text } from "../../shell/field.js";
import { decimal } from "../../shell/numbers.js";
import { randomNormal } from "../../shell/random.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { proofCard } from "./proofCard.js";
import { engineName, markdown, packResult, unpackResult, type BenchResult } from "./sharing.js";
import { snippet } from "./snippet.js";

const fields = {
  /** How long to measure each case on each engine. */
  seconds: number(0.3, { min: 0.02, max: 2, step: 0.02 }),
  /** A result that somebody shared in a link. */
  result: text("", 20_000),
};

export const room = makeRoom(fields, open);

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const table = scrollable("Figures");
  const about = element("p", { class: "finding", role: "status" });
  const share = element("div", { class: "row" });
  const proof = proofCard(deviceName());
  const run = button("Run the bench", () => void measure(), "primary");
  stage.append(
    card("What this browser offers", offers()),
    panel(
      slider(state, "seconds", "Seconds for each figure", (value) => decimal(value)),
      run,
    ),
    card("Figures", about, table, share, element("p", { class: "hint" }, NOTES)),
    proof.node,
  );
  view.onClose(() => proof.close());

  async function measure(): Promise<void> {
    run.disabled = true;
    about.textContent = "Measuring. Leave this tab in front, and the machine alone.";
    try {
      const figures = await view.engine.bench({ engines: engines(), seconds: state.values.seconds });
      const result = { device: deviceName(), date: new Date().toISOString().slice(0, 10), figures };
      state.set({ result: packResult(result) });
    } catch (error) {
      about.textContent = `The bench was interrupted: ${error instanceof Error ? error.message : String(error)}.`;
    }
    run.disabled = false;
  }

  view.onDraw(({ result: packed }) => {
    const result = unpackResult(packed);
    about.textContent = result
      ? `Measured on ${result.device}, ${result.date}.`
      : "Nothing is measured yet. A run takes some seconds.";
    table.replaceChildren(...(result ? [figureTable(result.figures)] : []));
    share.replaceChildren(...(result ? sharing(result, about) : []));
    return Promise.resolve();
  });
  view.onCode(snippet);
  view.onCheck(async () => {
    const tensor = (seed: number) => ({ data: randomNormal(seed, 2 * 70 * 32), shape: [1, 2, 70, 32] });
    const call = { query: tensor(1), key: tensor(2), value: tensor(3), options: { causal: true } };
    const { output, probs } = await view.engine.scaledDotProductAttention(call.query, call.key, call.value, {
      causal: true,
      returns: { output: true, probs: true },
    });
    return attentionDifferences(call, { output: { data: output.data as Float32Array, shape: output.shape }, probs });
  });
}

const NOTES =
  "Arrays are copied in and results out, as in any call. The decode case reads a cache that lies in the engine. “of the roof”: against multiply-adds of one core with nothing else to do, times the threads. Before it is timed, every engine is compared with the definition in double precision.";

/** All engines. An engine that cannot run here says why. */
function engines(): BenchEngine[] {
  const most = crossOriginIsolated ? Math.min(navigator.hardwareConcurrency, 8) : 1;
  const threads = most > 1 ? [1, most] : [1];
  const wasm = (["relaxed", "simd"] as const).flatMap((variant) =>
    threads.map((n) => ({ backend: "wasm" as const, variant, threads: n })),
  );
  return [...wasm, { backend: "webgpu", variant: "wgsl", threads: 0 }];
}

function deviceName(): string {
  const [browser = "a browser"] = /(Firefox|Edg|Chrome|Version)\/[\d]+/.exec(navigator.userAgent) ?? [];
  const [, system = ""] = /\(([^;)]+)/.exec(navigator.userAgent) ?? [];
  return `${browser.replace("/", " ")}, ${system}, ${navigator.hardwareConcurrency} cores`;
}

function offers(): HTMLElement {
  const rows: readonly (readonly [string, boolean, string])[] = [
    [
      "Threads",
      crossOriginIsolated,
      crossOriginIsolated
        ? `${navigator.hardwareConcurrency} cores are visible to this page.`
        : "The page is not cross-origin isolated. Serve it with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp.",
    ],
    [
      "WebGPU",
      "gpu" in navigator,
      "gpu" in navigator
        ? "navigator.gpu is there; whether an adapter answers shows when it is asked."
        : "This browser has no navigator.gpu, or the page is not served over https or from localhost.",
    ],
  ];
  return element(
    "ul",
    { class: "offers" },
    ...rows.map(([name, is, words]) =>
      element("li", { class: is ? "yes" : "no" }, element("b", {}, `${name}: ${is ? "yes" : "no"}`), ` ${words}`),
    ),
  );
}

function figureTable(figures: readonly BenchFigure[]): HTMLElement {
  const head = ["Engine", ...CASES.map(({ name }) => name), "Error"];
  const best = CASES.map((_, index) => Math.min(...figures.map(({ times }) => times[index] ?? Infinity)));
  const rows = figures.map((figure) => {
    const name = element("th", { scope: "row" }, engineName(figure.engine));
    if (figure.refusal)
      return element(
        "tr",
        {},
        name,
        element("td", { class: "reason", colspan: String(head.length - 1) }, figure.refusal),
      );
    const cells = CASES.map(({ flops }, index) => {
      const time = figure.times[index]!;
      return element(
        "td",
        time === best[index] ? { class: "best" } : {},
        `${time.toPrecision(3)} ms`,
        element("small", {}, `${(flops / time / 1e6).toPrecision(3)} GFLOP/s${roofShare(figure, flops, time)}`),
      );
    });
    return element("tr", {}, name, ...cells, element("td", {}, figure.error?.toExponential(0) ?? ""));
  });
  return element(
    "table",
    { class: "figures", "aria-label": "Figures of the bench" },
    element("thead", {}, element("tr", {}, ...head.map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, ...rows),
  );
}

function roofShare({ roof, engine }: BenchFigure, flops: number, time: number): string {
  if (roof === undefined) return "";
  return `, ${((100 * flops * 1000) / time / roof / Math.max(engine.threads, 1)).toFixed(0)} % of the roof`;
}

function sharing(result: BenchResult, about: HTMLElement): HTMLElement[] {
  const copy = (label: string, words: () => string) =>
    button(label, () => {
      navigator.clipboard.writeText(words()).then(
        () => (about.textContent = "Copied."),
        () => (about.textContent = "This browser does not let the page copy."),
      );
    });
  return [copy("Copy a link to this result", () => location.href), copy("Copy as Markdown", () => markdown(result))];
}
