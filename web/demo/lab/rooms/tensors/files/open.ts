import { FileError } from "./numbers.js";
import { readNpy } from "./npy.js";
import { openSafetensors, type FileEntry } from "./safetensors.js";

/** Opens a dropped file. The ending of its name says the format. */
export async function openFile(file: File): Promise<FileEntry[]> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    if (file.name.endsWith(".safetensors")) return openSafetensors(bytes);
    if (!file.name.endsWith(".npy")) throw new FileError("is neither .npy nor .safetensors");
    const tensor = readNpy(bytes, file.name.replace(/\.npy$/, ""));
    return [{ ...tensor, read: () => tensor }];
  } catch (error) {
    if (error instanceof FileError) throw new FileError(`${file.name} ${error.message}`);
    throw error;
  }
}
