import { element } from "./element.js";

/** A button that opens the browser's choice of files. The browser's own button speaks the browser's language. */
export interface FileChoice {
  readonly id: string;
  readonly label: string;
  /** Attributes of the field, such as the kinds of files. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** A place that shows that files may be dropped, or chosen. The page takes those that are dropped: see drops.ts. */
export function dropZone(
  title: string,
  about: string,
  chosen: readonly FileChoice[],
  take: (files: readonly File[]) => void,
): HTMLElement {
  return element(
    "div",
    { class: "drop" },
    element("b", {}, title),
    element("span", { class: "hint" }, about),
    element("div", { class: "row" }, ...chosen.map((choice) => fileButton(choice, take))),
  );
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
