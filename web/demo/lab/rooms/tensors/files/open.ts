import { FileError } from "./numbers.js";
import { readNpy } from "./npy.js";
import { openSafetensors, type FileEntry } from "./safetensors.js";
import { t } from "../../../../texts/t.js";

/** What became of several files: the tensors of those that could be read, and a sentence for each that could not. */
export interface Opened {
  readonly entries: readonly FileEntry[];
  readonly failures: readonly string[];
}

/** Opens files. One that fails does not affect the others. */
export async function openFiles(files: readonly File[]): Promise<Opened> {
  const opened = await Promise.allSettled(files.map(openFile));
  return {
    entries: opened.flatMap((result) => (result.status === "fulfilled" ? result.value : [])),
    failures: opened.flatMap((result, index) =>
      result.status === "rejected" ? [failure(files[index]!, result.reason)] : [],
    ),
  };
}

function failure({ name }: File, reason: unknown): string {
  if (reason instanceof FileError) return `${reason.message}.`;
  return t`${name} could not be read: ${reason instanceof Error ? reason.message : String(reason)}`;
}

/** Opens a file. The ending of its name says the format. Errors name the file, also those of reading a tensor later. */
export async function openFile(file: File): Promise<FileEntry[]> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return naming(file.name, () => entriesOf(file.name, bytes)).map((entry) => ({
    ...entry,
    read: () => naming(file.name, () => entry.read()),
  }));
}

function entriesOf(name: string, bytes: Uint8Array): FileEntry[] {
  if (name.endsWith(".safetensors")) return openSafetensors(bytes);
  if (!name.endsWith(".npy")) throw new FileError(t`is neither .npy nor .safetensors`);
  const tensor = readNpy(bytes, name.replace(/\.npy$/, ""));
  return [{ ...tensor, read: () => tensor }];
}

function naming<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof FileError ? new FileError(`${file} ${error.message}`) : error;
  }
}
