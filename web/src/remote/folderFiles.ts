import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { FolderFile } from "./folderFile.js";
import type { NodeFs } from "./nodeFs.js";

/**
 * The files of a folder of this machine.
 *
 * @param innerOf - Names of files in folders inside of it, of which those that are there are given too. It gets the others.
 */
export async function folderFiles(
  operation: string,
  fs: NodeFs,
  folder: string,
  innerOf: (files: Readonly<Record<string, FolderFile>>) => Promise<readonly string[]>,
): Promise<Record<string, FolderFile>> {
  try {
    const files = await filesAt(fs, folder, await fs.promises.readdir(folder));
    return { ...files, ...(await filesAt(fs, folder, await innerOf(files))) };
  } catch (cause) {
    const { code = "it is none" } = cause as { readonly code?: string };
    throw new OptionError(`${operation}: the folder ${describe(folder)} could not be read: ${code}`, {
      hint: "An address begins with http. `hub(name)` makes the address of a model on a hub.",
      cause,
    });
  }
}

/** The files of these names that are there. */
async function filesAt(fs: NodeFs, folder: string, names: readonly string[]): Promise<Record<string, FolderFile>> {
  const files = await Promise.all(
    names.map(async (name) => {
      const path = `${folder}/${name}`;
      const stat = await fs.promises.stat(path).catch(() => undefined);
      return stat?.isFile() ? ([[name, new FolderFile(fs, path, stat.size)]] as const) : [];
    }),
  );
  return Object.fromEntries(files.flat());
}
