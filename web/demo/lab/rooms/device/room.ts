import "./room.css";

import { attentionDifferences } from "../../engine/difference.js";
import { CASES, engineName, type BenchEngine, type BenchFigure } from "../../engine/bench.js";
import { toClipboard } from "../../shell/clipboard.js";
import { button, panel, slider } from "../../shell/controls.js";
import { card, element, folded, scrollable } from "../../shell/element.js";
import { number, text } from "../../shell/field.js";
import { decimal } from "../../shell/numbers.js";
import { randomNormal } from "../../shell/random.js";
import { room as makeRoom, type RoomView } from "../../shell/room.js";
import { proofCard } from "./proofCard.js";
import { rooflineChart } from "./chart.js";
import { markdown, packResult, unpackResult } from "./sharing.js";
import type { BenchResult } from "./benchResult.js";
import { snippet } from "./snippet.js";
import { errorText, finding, measuredWords, pointsOf, rateText, timeText } from "./words.js";
import { t } from "../../../texts/t.js";

const fields = {
  /** How long to measure each case on each engine. */
  seconds: number(0.3, { min: 0.02, max: 2, step: 0.02 }),
  /** A result that somebody shared in a link. */
  result: text("", 20_000),
};

export const room = makeRoom(fields, open, {
  random: t`The arrays of the bench are random numbers. The time of a call does not depend on them.`,
});

function open(view: RoomView<typeof fields>): void {
  const { state, stage } = view;
  const table = scrollable(t`Figures`);
  const about = element("p", { class: "finding", role: "status" });
  const share = element("div", { class: "row" });
  const proof = proofCard(deviceName());
  const chart = element("div", {});
  const run = button(t`Run the bench`, () => void measure(), "primary");
  const cancel = button(t`Cancel the bench`, () => {
    view.engine.cancelBench();
    about.textContent = t`It ends after the call that runs.`;
  });
  cancel.hidden = true;
  stage.append(
    panel(
      run,
      cancel,
      slider(state, "seconds", t`Seconds for each figure`, (value) => decimal(value)),
    ),
    card(
      t`Figures`,
      about,
      chart,
      element("p", { class: "hint" }, CHART_NOTES),
      table,
      share,
      element("p", { class: "hint" }, NOTES),
    ),
    folded(t`What this browser offers`, offers()),
    proof.node,
  );
  view.onClose(() => {
    proof.close();
    if (run.disabled) view.engine.cancelBench();
  });

  async function measure(): Promise<void> {
    const hadFocus = document.activeElement === run;
    run.disabled = true;
    cancel.hidden = false;
    if (hadFocus) cancel.focus();
    about.textContent = t`Measuring. Leave this tab in front, and the machine alone.`;
    const order = { engines: engines(), seconds: state.values.seconds };
    try {
      const figures = await view.engine.bench(order);
      const isCancelled = figures.length < order.engines.length || figures.some(isCut);
      const date = new Date().toISOString().slice(0, 10);
      const result = { device: deviceName(), date, figures, ...(isCancelled && { cancelledOf: order.engines.length }) };
      if (figures.length > 0) state.set({ result: packResult(result) });
      about.textContent = measuredWords(unpackResult(state.values.result));
    } catch (error) {
      about.textContent = t`The bench was interrupted: ${error instanceof Error ? error.message : String(error)}.`;
    }
    run.disabled = false;
    if (document.activeElement === cancel) run.focus();
    cancel.hidden = true;
  }

  view.onDraw(({ result: packed }) => {
    const result = unpackResult(packed);
    view.finding(finding(result, navigator.hardwareConcurrency, crossOriginIsolated, "gpu" in navigator));
    if (!run.disabled) about.textContent = measuredWords(result);
    chart.replaceChildren(rooflineChart(result?.figures ?? []));
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

const CHART_NOTES = t`Both axes are logarithmic. An engine’s roof is flat where multiply-adds limit it: those of one core with nothing else to do, times its threads. It falls to the left where memory limits it: what its threads copy together. A point above the sloping part found its numbers in a cache.`;
const NOTES = t`Arrays are copied in and results out, as in any call. The decode case reads a cache that lies in the engine. Before it is timed, every engine is compared with the definition in double precision; the last column is its largest error.`;

/** Whether cases are missing that were to be measured. */
function isCut({ refusal, times }: BenchFigure): boolean {
  return refusal === undefined && times.length < CASES.length;
}

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
      t`Threads`,
      crossOriginIsolated,
      crossOriginIsolated
        ? t`${navigator.hardwareConcurrency} cores are visible to this page.`
        : t`The page is not cross-origin isolated. Serve it with Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp.`,
    ],
    [
      "WebGPU",
      "gpu" in navigator,
      "gpu" in navigator
        ? t`navigator.gpu is there; whether an adapter answers shows when it is asked.`
        : t`This browser has no navigator.gpu, or the page is not served over https or from localhost.`,
    ],
  ];
  return element(
    "ul",
    { class: "offers" },
    ...rows.map(([name, is, words]) =>
      element("li", { class: is ? "yes" : "no" }, element("b", {}, is ? t`${name}: yes` : t`${name}: no`), ` ${words}`),
    ),
  );
}

function figureTable(figures: readonly BenchFigure[]): HTMLElement {
  const head = [t`Engine`, ...CASES.map(({ name }) => name), t`Error`];
  const points = pointsOf(figures);
  const best = CASES.map((_, index) =>
    Math.min(...points.filter((point) => point.case === index).map(({ milliseconds }) => milliseconds)),
  );
  const rows = figures.map((figure, at) => {
    const name = element("th", { scope: "row" }, engineName(figure.engine));
    if (figure.refusal !== undefined) {
      const reason = element("td", { class: "reason", lang: "en", colspan: String(head.length - 1) }, figure.refusal);
      return element("tr", {}, name, reason);
    }
    const cells = CASES.map(({ name: label }, index) => {
      const point = points.find((one) => one.figure === at && one.case === index);
      if (!point) return element("td", { class: "quiet", "data-label": label }, t`not measured`);
      const isBest = point.milliseconds === best[index];
      return element(
        "td",
        { "data-label": label, ...(isBest && { class: "best" }) },
        timeText(point),
        element("small", {}, rateText(point)),
      );
    });
    return element("tr", {}, name, ...cells, element("td", { "data-label": t`Error` }, errorText(figure)));
  });
  return element(
    "table",
    { class: "figures stacks", "aria-label": t`Figures of the bench` },
    element("thead", {}, element("tr", {}, ...head.map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, ...rows),
  );
}

function sharing(result: BenchResult, about: HTMLElement): HTMLElement[] {
  const copy = (label: string, words: () => string) =>
    button(label, () => {
      toClipboard(words()).then(
        () => (about.textContent = t`Copied.`),
        () => (about.textContent = t`This browser does not let the page copy.`),
      );
    });
  return [copy(t`Copy a link to this result`, () => location.href), copy(t`Copy as Markdown`, () => markdown(result))];
}
