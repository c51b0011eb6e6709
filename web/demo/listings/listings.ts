// In the pages of the documents: listings of JavaScript, TypeScript, React and HTML that run in the page itself, with the
// package, and that the reader may change. The contents of each page are its main landmark, which TypeDoc does not say.

import { LANGUAGES, type Language } from "./languages.js";
import { runProgram, runsHere } from "./program.js";

/** What a listing may import, and the files of the site, by name. `web/build/docs.mjs` puts them in. */
declare const IMPORTS: Readonly<Record<string, string>>;

/** The folder of the site, as a page of it says it. */
const site = new URL(document.documentElement.dataset["base"] ?? "./", document.baseURI);

// A page may have one of these only before its first module.
const map = document.createElement("script");
map.type = "importmap";
const addresses = Object.entries(IMPORTS).map(([name, file]) => [name, new URL(file, site).href]);
map.textContent = JSON.stringify({ imports: Object.fromEntries(addresses) as object });
document.head.append(map);

const contents = document.querySelector<HTMLElement>(".col-content")!;
contents.role = "main";
for (const table of contents.querySelectorAll("table")) frame(table);

const names = new Set(Object.keys(IMPORTS));
for (const [name, language] of Object.entries(LANGUAGES))
  for (const code of document.querySelectorAll<HTMLElement>(`pre > code.${name}`))
    if (runsHere(language.read(code.innerText).program, names)) makeLive(code, language);

/** On a narrow screen a wide table scrolls by itself, also by keys. The page does not. */
function frame(table: HTMLTableElement): void {
  const box = document.createElement("div");
  box.className = "table-frame";
  box.tabIndex = 0;
  box.role = "group";
  box.ariaLabel = "Table";
  table.replaceWith(box);
  box.append(table);
}

/** Lets a reader change a listing, run it, and take it back. */
function makeLive(code: HTMLElement, language: Language): void {
  const original = code.innerHTML;
  code.setAttribute("contenteditable", "plaintext-only");
  if (!code.isContentEditable) code.contentEditable = "true"; // an older browser
  code.spellcheck = false;
  code.role = "textbox";
  code.ariaMultiLine = "true";
  code.ariaLabel = "The program. You may change it.";

  const printed = document.createElement("output");
  printed.className = "listing-printed";
  printed.ariaLive = "polite";
  const drawn = document.createElement("div");
  drawn.className = "listing-drawn";
  let takeAway = () => drawn.replaceChildren();
  const clear = () => {
    takeAway();
    takeAway = () => drawn.replaceChildren();
    printed.textContent = "";
    printed.classList.remove("failed");
  };
  const run = button("Run", () => void show());
  const reset = button("Reset", () => {
    code.innerHTML = original;
    clear();
    reset.hidden = true;
  });
  reset.hidden = true;
  code.addEventListener("input", () => (reset.hidden = false));
  code.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void show();
  });
  const controls = document.createElement("div");
  controls.className = "listing-controls";
  controls.append(run, reset, printed, drawn);
  code.parentElement!.after(controls);

  async function show(): Promise<void> {
    if (run.disabled) return;
    run.disabled = true;
    clear();
    const print = (text: string) => printed.append(`${text}\n`);
    const fail = (text: string) => {
      printed.classList.add("failed");
      print(text);
    };
    try {
      const { program, markup } = language.read(code.innerText);
      drawn.innerHTML = markup;
      const module = await runProgram((await language.translate?.(program)) ?? program, print);
      if (language.draw) takeAway = await language.draw(module, drawn, fail);
      else if (!printed.textContent && !drawn.childElementCount) print("(it prints nothing)");
    } catch (error) {
      fail(messageOf(error));
    }
    run.disabled = false;
  }
}

function button(text: string, act: () => void): HTMLButtonElement {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = text;
  element.addEventListener("click", act);
  return element;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { name, message, hint } = error as Error & { readonly hint?: string };
  const opened = location.protocol === "file:" ? "\nListings run only where a web server serves this folder." : "";
  return `${name}: ${message}${hint ? `\n${hint}` : ""}${opened}`;
}
