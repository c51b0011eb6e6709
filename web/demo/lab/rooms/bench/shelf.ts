import { button } from "../../shell/controls.js";
import { dropZone } from "../../shell/dropZone.js";
import { element, setHidden } from "../../shell/element.js";
import { inWords } from "../../shell/failure.js";
import { checked, MOST_BYTES, readBench, type BenchDocument, type BenchFile } from "./benchFile.js";
import example from "../../../../../tests/bench/schema/example.json" with { type: "json" };
import { fetchText, tooLong } from "./fetching.js";
import { t } from "../../../texts/t.js";

export const EXAMPLE: BenchFile = { name: "example.json", document: checked("example.json", example) };

/** More files than these are refused. */
const MOST_FILES = 40;

/** The visitor's files, and what is wrong with those that are refused. */
export class Shelf {
  readonly node: HTMLElement;
  readonly #redraw: () => void;
  readonly #list = element("ul", { class: "bench-files" });
  readonly #trouble = element("div", { class: "failure", role: "alert" });
  readonly #example = button(t`Show the example`, () => this.#put([EXAMPLE]));
  #files: readonly BenchFile[] = [EXAMPLE];

  /** @param fetchFrom - Gets the address of a file that the visitor wants. */
  constructor(redraw: () => void, fetchFrom: (address: string) => void) {
    this.#redraw = redraw;
    const zone = dropZone(
      t`Drop files of the format headwise-bench here, or choose them`,
      t`They are read in this page and are not sent anywhere.`,
      [{ id: "bench-files", label: t`Choose files`, attributes: { multiple: "", accept: ".json" } }],
      (files) => void this.take(files),
    );
    this.node = element(
      "div",
      { class: "shelf" },
      zone,
      addressForm(fetchFrom),
      this.#trouble,
      this.#list,
      this.#example,
    );
    this.#show([]);
  }

  get files(): readonly BenchFile[] {
    return this.#files;
  }

  /** Adds files. One that is refused does not affect the others, and any file replaces the example. */
  async take(files: readonly File[]): Promise<void> {
    const reading = files.map(async (file) => {
      if (file.size > MOST_BYTES) throw tooLong(file.name);
      return { name: file.name, document: readBench(file.name, await file.text()) };
    });
    this.#add(await Promise.allSettled(reading));
  }

  /** Fetches a file and adds it. */
  async fetch(address: string): Promise<void> {
    const fetching = fetchText(address, location.href.replace(/#.*/s, ""));
    this.#add(
      await Promise.allSettled([fetching.then(({ name, text }) => ({ name, document: readBench(name, text) }))]),
    );
  }

  #add(results: readonly PromiseSettledResult<BenchFile>[]): void {
    const own = this.#files.filter((file) => file !== EXAMPLE);
    const failures: string[] = [];
    for (const result of results)
      if (result.status === "rejected") failures.push(inWords(result.reason));
      else if (own.length >= MOST_FILES)
        failures.push(t`${result.value.name} is left out: the page shows ${MOST_FILES} files.`);
      else if (!isKnown(own, result.value.document))
        own.push({ ...result.value, name: freeName(own, result.value.name) });
    this.#put(own, failures);
  }

  #put(files: readonly BenchFile[], failures: readonly string[] = []): void {
    this.#files = files;
    this.#show(failures);
    this.#redraw();
  }

  #show(failures: readonly string[]): void {
    this.#trouble.replaceChildren(...failures.map((words) => element("p", {}, words)));
    this.#trouble.hidden = failures.length === 0;
    setHidden(this.#example, this.#files.includes(EXAMPLE));
    this.#list.hidden = this.#files.length === 0;
    this.#list.replaceChildren(...this.#files.map((file) => this.#item(file)));
  }

  #item(file: BenchFile): HTMLElement {
    const { date, command, headwise, note } = file.document;
    const version = `headwise ${headwise.version}${headwise.commit ? ` (${headwise.commit})` : ""}`;
    const remove = button(t`Remove`, () => {
      const at = this.#files.indexOf(file);
      this.#put(this.#files.filter((other) => other !== file));
      // The button is gone: the focus goes to that of the next file, or of the last one.
      const others = [...this.#list.querySelectorAll("button")];
      (others[at] ?? others.at(-1) ?? this.#example).focus();
    });
    remove.setAttribute("aria-label", t`Remove ${file.name}`);
    return element(
      "li",
      {},
      ...[element("b", {}, file.name), ` ${date.slice(0, 10)}, ${version}, `, commandNode(command), " "],
      ...(note ? [element("span", { class: "hint", translate: "no" }, note), " "] : []),
      remove,
    );
  }
}

/** A line breaks between two words of a command, never after the hyphens of an option. */
function commandNode(command: string): HTMLElement {
  const words = command.split(" ").flatMap((word, at) => [...(at > 0 ? [" "] : []), element("span", {}, word)]);
  return element("code", { class: "command", translate: "no" }, ...words);
}

function addressForm(fetchFrom: (address: string) => void): HTMLElement {
  const input = element("input", { type: "url", id: "bench-address", autocomplete: "off", required: "" });
  const form = element(
    "form",
    { class: "bench-address" },
    element("label", { for: "bench-address" }, t`Or the https address of a file`),
    input,
    element("button", { type: "submit" }, t`Fetch`),
  );
  form.onsubmit = (event) => {
    event.preventDefault();
    fetchFrom(input.value);
  };
  return form;
}

const isKnown = (files: readonly BenchFile[], document: BenchDocument) =>
  files.some((file) => JSON.stringify(file.document) === JSON.stringify(document));

/** Files of different people often have one name. */
function freeName(files: readonly BenchFile[], name: string): string {
  const isTaken = (candidate: string) => files.some((file) => file.name === candidate);
  let free = name;
  for (let n = 2; isTaken(free); n++) free = `${name} (${n})`;
  return free;
}
