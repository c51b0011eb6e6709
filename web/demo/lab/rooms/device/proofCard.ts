import type { ProofChoice, ProofRecord, ProofSpeed, ProofVariant } from "../../../../../tests/bench/proof/core.mjs";
import { documentOf, isRight } from "../../../../../tests/bench/proof/record.mjs";
import { adapterName, nameOf, shapeName } from "../../../../../tests/bench/proof/summary.mjs";
import { fromProof } from "../../../../../tests/bench/schema/fromProof.mjs";
import { Proof } from "../../engine/proof.js";
import { button, setIdle } from "../../shell/controls.js";
import { element, folded, scrollable, setHidden } from "../../shell/element.js";
import { significant, withUnit } from "../../shell/numbers.js";
import { save } from "../../shell/save.js";
import { t } from "../../../texts/t.js";

/** The longest time of each kind of run. */
const SECONDS = { whole: 480, quick: 60 };
const FILE = "gpu-proof.json";
/** The file that the room Bench draws. */
const BENCH_FILE = "gpu-bench.json";

const ABOUT = t`Computes the table of cases that tests every engine of headwise on this device’s GPU, with every variant of the kernels, and compares it with the definition in double precision. Then it measures the speed, and what backend “auto” makes of it. It runs in this page; nothing is sent. You may keep the result as a file.`;

/** The card that proves what the GPU of this device computes. `close` ends a proof that runs. */
export function proofCard(deviceName: string): { readonly node: HTMLElement; close(): void } {
  const verdict = element("p", { class: "finding", role: "status" }, t`Nothing is proved yet.`);
  const bar = element("progress", { "aria-label": t`Progress of the proof`, max: "1", value: "0" });
  const what = element("span", { class: "hint", "aria-hidden": "true", lang: "en" });
  const running = element("div", { class: "proof-progress" }, bar, what);
  const results = element("div", { class: "stage" });
  let proof: Proof | undefined;

  const begin = (quick: boolean) => () => void run(quick);
  const whole = button(t`Prove this GPU`, begin(false), "primary");
  const quick = button(t`Quick check`, begin(true));
  const cancel = button(t`Cancel`, () => {
    proof?.cancel();
    verdict.textContent = t`It ends after the case that runs.`;
  });
  const show = (isRunning: boolean) => {
    for (const each of [whole, quick]) setIdle(each, isRunning);
    running.hidden = !isRunning;
    setHidden(cancel, !isRunning, whole);
  };
  show(false);

  async function run(isQuick: boolean): Promise<void> {
    show(true);
    results.replaceChildren();
    verdict.textContent = t`It runs: at most ${(isQuick ? SECONDS.quick : SECONDS.whole) / 60} min. Leave this tab in front.`;
    const options = { quick: isQuick, seconds: isQuick ? SECONDS.quick : SECONDS.whole, name: deviceName };
    proof = new Proof(options, ({ what: step, done, total }) => {
      bar.max = total;
      bar.value = done;
      what.textContent = step;
    });
    try {
      const record = await proof.record;
      verdict.textContent = record.notRun ? t`It cannot run: ${record.notRun}.` : verdictWords(record);
      if (!record.notRun) results.replaceChildren(...resultsOf(record));
    } catch (error) {
      verdict.textContent = t`The proof was interrupted: ${error instanceof Error ? error.message : String(error)}.`;
    }
    proof.close();
    proof = undefined;
    show(false);
  }

  const buttons = element("div", { class: "row" }, whole, quick, cancel);
  const node = folded(t`Is its GPU right, and how fast?`, element("p", { class: "hint" }, ABOUT), buttons, running, verdict, results); // oxfmt-ignore
  return { node, close: () => proof?.close() };
}

function resultsOf(record: ProofRecord): HTMLElement[] {
  const { table, speed, auto } = record;
  const hasTimes = speed.some(({ failure }) => failure === undefined);
  return [
    scrollable(
      t`Cases by variant`,
      figures(t`Cases by variant`, [t`Kernels`, t`Right`, t`Wrong`], table.map(variantRow)),
    ),
    scrollable(t`Speed on the GPU`, figures(t`Speed on the GPU`, [t`Case`, t`Time`, t`Rate`], speed.map(speedRow))),
    ...(auto.choices.length > 0 ? [scrollable(t`What auto chooses`, choices(auto.choices))] : []),
    element("p", {}, t`Backend “auto”: ${`${auto.state}${auto.reason ? `, ${auto.reason}` : ""}`}.`),
    element(
      "div",
      { class: "row" },
      button(t`Save ${FILE}`, () => saveJson(FILE, documentOf([record]))),
      ...(hasTimes ? [button(t`Save ${BENCH_FILE}`, () => saveJson(BENCH_FILE, benchOf(record)))] : []),
    ),
  ];
}

const choices = (of: readonly ProofChoice[]) =>
  figures(
    t`What auto chooses`,
    [t`Heads × queries × keys × width`, t`“auto” gives it to`],
    of.map(({ shape, plan: { engine } }) => [shapeName(shape), engine === "wasm" ? "WebAssembly" : "WebGPU"]),
  );

function figures(name: string, head: readonly string[], rows: readonly (readonly string[])[]): HTMLElement {
  const cell = (text: string, n: number) => (n === 0 ? element("th", { scope: "row" }, text) : element("td", {}, text));
  return element(
    "table",
    { class: "figures", "aria-label": name },
    element("thead", {}, element("tr", {}, ...head.map((title) => element("th", { scope: "col" }, title)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cell)))),
  );
}

function variantRow(variant: ProofVariant): string[] {
  const { ran, right, cases, wrong, failure, stopped } = variant;
  const counts = t`${right} of ${ran}`;
  const all = ran < cases && stopped ? t`${counts} (${cases - ran} not run: ${stopped})` : counts;
  return [nameOf(variant), all, failure ?? wrong.map(({ case: name }) => name).join(", ")];
}

function speedRow(record: ProofSpeed): string[] {
  const { case: name, tiling, failure, group, milliseconds, gpuMilliseconds } = record;
  if (failure !== undefined) return [`${name}, ${tiling}`, t`wrong`, failure];
  const share = (value: number, of: string) => t`${(100 * value).toFixed(0)} % of ${of}`;
  const rate =
    group === "decode"
      ? `${withUnit(significant(record.gigabytesPerSecond), "GB/s")}, ${share(record.shareOfBandwidth, t`copying`)}`
      : `${withUnit(significant(record.gflops), "GFLOP/s")}, ${share(record.shareOfMultiplyAdds, t`multiply-adds alone`)}`;
  return [`${name}, ${tiling}`, withUnit(significant(gpuMilliseconds ?? milliseconds), "ms"), rate];
}

/** What a record proves, as its summary says it in a terminal. */
function verdictWords(record: ProofRecord): string {
  const { adapter, table, state } = record;
  const sum = (part: (variant: ProofVariant) => number) => table.reduce((total, variant) => total + part(variant), 0);
  const [ran, all, name] = [sum((variant) => variant.ran), sum(({ cases }) => cases), adapterName(adapter)];
  return [
    isRight(record)
      ? t`${ran} of ${all} cases ran on ${name}; none is wrong.`
      : t`${ran} of ${all} cases ran on ${name}; SOME ARE WRONG.`,
    state === "cancelled" ? t`It was cancelled.` : "",
    adapter.software
      ? t`This is a software adapter, which computes on the CPU. This proves correctness only; the times say nothing.`
      : "",
  ]
    .filter(Boolean)
    .join(" ");
}

/** Gives the visitor a file. */
function saveJson(name: string, document: object): void {
  save(name, new TextEncoder().encode(`${JSON.stringify(document, undefined, 1)}\n`));
}

/** The times in the format of the room Bench. The lab has no peers. */
function benchOf(record: ProofRecord): object {
  const about = {
    date: new Date().toISOString(),
    command: "the lab, Your device",
    headwise: { version: record.headwise },
  };
  return fromProof([record], { ...about, engineOf: () => ({}) });
}
