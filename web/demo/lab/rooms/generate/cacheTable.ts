import type { DecoderConfig } from "../../../generate/decoderFile.js";
import type { CacheState } from "../../engine/generateProtocol.js";
import { element } from "../../shell/element.js";
import { bytes, grouped } from "../../shell/numbers.js";
import { cacheName, cacheWords, changeWords } from "./words.js";
import { t } from "../../../texts/t.js";

const HEAD = ["", t`memory`, t`tokens kept`, t`largest change of a chance`];

/** The caches that read the text: how large they are, and what their rounding does to the next token. */
export class CacheTable {
  readonly node: HTMLElement;
  readonly #body = element("tbody");
  readonly #words = element("p", { class: "hint" });

  constructor() {
    const head = HEAD.map((name) => (name ? element("th", { scope: "col" }, name) : element("td")));
    const table = element("table", { class: "costs stacks caches", "aria-label": t`Caches` });
    table.append(element("thead", {}, element("tr", {}, ...head)), this.#body);
    this.node = element("div", { class: "column" }, table, this.#words);
  }

  show(caches: readonly CacheState[], config: DecoderConfig): void {
    const most = Math.max(...caches.map((cache) => cache.bytes));
    this.#words.textContent = cacheWords(caches, config);
    this.#body.replaceChildren(
      ...caches.map((cache) => {
        const bar = element("span", { class: "bar" });
        bar.style.setProperty("--share", `${(100 * cache.bytes) / most}%`);
        const cell = (at: number, ...content: (Node | string)[]) =>
          element("td", { "data-label": HEAD[at]! }, ...content);
        const name = element("th", { scope: "row" }, cacheName(cache));
        if (cache.isWriter) name.append(element("small", {}, ` ${t`writes`}`));
        return element(
          "tr",
          { "data-cache": cache.name },
          name,
          cell(1, bar, element("span", {}, bytes(cache.bytes))),
          cell(2, grouped(cache.tokens)),
          cell(3, changeWords(cache)),
        );
      }),
    );
  }
}
