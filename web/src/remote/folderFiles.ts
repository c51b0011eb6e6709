import { OptionError } from "../errors/errors.js";
import { describe } from "../foreign/describe.js";
import type { NodeFs } from "./nodeFs.js";

/** The files of a folder of this machine. */
export async function folderFiles(operation: string, fs: NodeFs, folder: string): Promise<Record<string, Blob>> {
  try {
    const paths = (await fs.promises.readdir(folder)).map((name) => [name, `${folder}/${name}`] as const);
    const stats = await Promise.all(paths.map(([, path]) => fs.promises.stat(path)));
    const files = paths.filter((_, n) => stats[n]!.isFile());
    const blobs = await Promise.all(files.map(([, path]) => fs.openAsBlob(path)));
    return Object.fromEntries(files.map(([name], n) => [name, blobs[n]!]));
  } catch (cause) {
    const { code = "it is none" } = cause as { readonly code?: string };
    throw new OptionError(`${operation}: the folder ${describe(folder)} could not be read: ${code}`, {
      hint: "An address begins with http. `hub(name)` makes the address of a model on a hub.",
      cause,
    });
  }
}
