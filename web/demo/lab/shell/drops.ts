/** A page that does not handle dropped files is left by the browser, which opens the file. This keeps the page. */
export function takeDrops(take: (files: readonly File[]) => void): void {
  addEventListener("dragover", (event) => {
    if (isForPage(event)) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    if (!isForPage(event)) return;
    event.preventDefault();
    take([...(event.dataTransfer?.files ?? [])]);
  });
}

/** Whether files are dragged, and no element has taken them. A file input takes files by itself. */
function isForPage({ dataTransfer, defaultPrevented, target }: DragEvent): boolean {
  const isInput = target instanceof Element && target.matches("input[type=file]:enabled");
  return !defaultPrevented && !isInput && dataTransfer !== null && dataTransfer.types.includes("Files");
}
