import type { Report } from "headwise";

import type { Failure } from "../engine/protocol.js";
import { t } from "../../texts/t.js";
import { choices, slider } from "./controls.js";
import { element } from "./element.js";
import { choice, number } from "./field.js";
import { counted } from "./numbers.js";
import type { State } from "./state.js";

/** The choice of the engine. It is part of every room's address. */
export const engineFields = {
  backend: choice("auto", ["auto", "wasm", "webgpu"]),
  /** 0 means as many as headwise chooses. */
  threads: number(0, { min: 0, max: 16 }),
};

/** Says which engine computes and why not a faster one, and lets the visitor choose. */
export class EngineBadge {
  readonly #summary: HTMLElement;
  readonly #reasons = element("ul");
  #name = "";

  constructor(details: HTMLElement, panel: HTMLElement, choice: State<typeof engineFields>) {
    this.#summary = details.querySelector("summary")!;
    panel.append(
      this.#reasons,
      choices(choice, "backend", t`Backend`, { auto: t`Automatic`, wasm: "wasm", webgpu: "WebGPU" }),
      slider(choice, "threads", t`Threads`, (threads) => (threads === 0 ? t`automatic` : String(threads))),
    );
  }

  /** "wasm · relaxed · 2 threads" */
  get name(): string {
    return this.#name;
  }

  showReport({ version, backend, variant, threads, adapter, reasons }: Report): void {
    const more = ` · ${variant} · ${counted(threads, "thread")}`;
    this.#name = `${backend}${more}`;
    const isolation = crossOriginIsolated
      ? t`This page is cross-origin isolated.`
      : t`This page is not cross-origin isolated: one thread.`;
    this.#show(element("span", {}, backend, element("span", { class: "more" }, more)), [
      line(`headwise ${version} · ${this.#name}`),
      ...(adapter ? [line(`GPU: ${adapter.vendor} ${adapter.architecture}`)] : []),
      line(isolation),
      ...Object.entries(reasons).map(([what, why]) => english(`${what}: ${why}`)),
    ]);
  }

  showFailure({ message, hint }: Failure): void {
    this.#show(t`no engine`, [message, ...(hint ? [hint] : [])].map(english));
  }

  #show(summary: string | HTMLElement, reasons: readonly HTMLElement[]): void {
    this.#summary.replaceChildren(summary);
    this.#reasons.replaceChildren(...reasons);
  }
}

const line = (words: string) => element("li", {}, words);
/** What the package says is English in a page of any language. */
const english = (words: string) => element("li", { lang: "en" }, words);
