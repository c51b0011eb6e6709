import { droppedFiles } from "./drops.js";
import { element } from "./element.js";

/** A button that opens the browser's choice of files. The browser's own button speaks the browser's language. */
export interface FileChoice {
  readonly id: string;
  readonly label: string;
  /** Attributes of the field, such as the kinds of files. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** A place where files are dropped, or chosen. */
export function dropZone(
  title: string,
  about: string,
  chosen: readonly FileChoice[],
  take: (files: readonly File[]) => void,
): HTMLElement {
  const zone = element(
    "div",
    { class: "drop" },
    element("b", {}, title),
    element("span", { class: "hint" }, about),
    element("div", { class: "row" }, ...chosen.map((choice) => fileButton(choice, take))),
  );
  zone.ondragover = (event) => event.preventDefault();
  zone.ondrop = (event) => {
    event.preventDefault();
    event.stopPropagation(); // the page takes files anywhere, and would take them twice
    if (event.dataTransfer) void droppedFiles(event.dataTransfer).then(take);
  };
  return zone;
}

function fileButton({ id, label, attributes }: FileChoice, take: (files: readonly File[]) => void): HTMLElement {
  const input = element("input", { type: "file", id, ...attributes });
  input.onchange = () => {
    const files = [...(input.files ?? [])];
    input.value = ""; // so that the same file can be chosen again
    if (files.length > 0) take(files);
  };
  return element("label", { class: "file-button" }, label, input);
}
