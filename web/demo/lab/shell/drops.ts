/** A page that does not handle dropped files is left by the browser, which opens the file. This keeps the page. */
export function takeDrops(take: (files: readonly File[]) => void, fail: () => void): void {
  addEventListener("dragover", (event) => {
    if (isForPage(event)) event.preventDefault();
  });
  addEventListener("drop", (event) => {
    if (!isForPage(event)) return;
    event.preventDefault();
    if (event.dataTransfer) void droppedFiles(event.dataTransfer).then(take, fail);
  });
}

/** The files that are dropped, and those of folders that are dropped, without their own folders. */
async function droppedFiles({ items }: DataTransfer): Promise<readonly File[]> {
  const given = [...items].filter(({ kind }) => kind === "file");
  // The items are empty as soon as something is awaited.
  const parts = given.map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const lists = parts.map(({ entry, file }) =>
    entry?.isDirectory ? filesOf(entry as FileSystemDirectoryEntry) : Promise.resolve(file ? [file] : []),
  );
  return (await Promise.all(lists)).flat();
}

async function filesOf(folder: FileSystemDirectoryEntry): Promise<readonly File[]> {
  const reader = folder.createReader();
  const read = () => new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
  const entries: FileSystemEntry[] = [];
  // A call gives only some entries; the one after the last ones gives none.
  for (let next = await read(); next.length > 0; next = await read()) entries.push(...next);
  const files = entries.filter(({ isFile }) => isFile) as FileSystemFileEntry[];
  return Promise.all(files.map((entry) => new Promise<File>((resolve, reject) => entry.file(resolve, reject))));
}

/** Whether files are dragged, and no element has taken them. A file input takes files by itself. */
function isForPage({ dataTransfer, defaultPrevented, target }: DragEvent): boolean {
  const isInput = target instanceof Element && target.matches("input[type=file]:enabled");
  return !defaultPrevented && !isInput && dataTransfer !== null && dataTransfer.types.includes("Files");
}
