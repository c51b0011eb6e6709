import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";
import { FolderFile } from "./folderFile.js";
import type { NodeFs } from "./nodeFs.js";

/**
 * The files of a folder of this machine.
 *
 * @param inner - Names of files in folders inside of it, of which those that are there are given too.
 */
export async function folderFiles(
  operation: string,
  fs: NodeFs,
  folder: string,
  inner: readonly string[],
): Promise<Record<string, FolderFile>> {
  try {
    const names = await fs.promises.readdir(folder);
    const there = inner.filter((name) => names.includes(name.split("/")[0]!));
    const paths = [...names, ...there].map((name) => [name, `${folder}/${name}`] as const);
    const stats = await Promise.all(paths.map(([, path]) => fs.promises.stat(path).catch(() => undefined)));
    const files = paths.map(([name, path], n) => [name, path, stats[n]] as const);
    return Object.fromEntries(
      files.flatMap(([name, path, stat]) => (stat?.isFile() ? [[name, new FolderFile(fs, path, stat.size)]] : [])),
    );
  } catch (cause) {
    const { code = "it is none" } = cause as { readonly code?: string };
    throw new OptionError(`${operation}: the folder ${describe(folder)} could not be read: ${code}`, {
      hint: "An address begins with http. `hub(name)` makes the address of a model on a hub.",
      cause,
    });
  }
}
