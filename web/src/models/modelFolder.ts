import { describe } from "../base/describe.js";
import { OptionError } from "../base/errors.js";

/** The folder of a path: `a/b` of `a/b/config.json`, and "" of `config.json`. */
function folderOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("/"), 0));
}

/**
 * The folder of a model among the paths of files.
 *
 * @param anchor - The file that each model has: config.json.
 * @param chosen - The folder that the caller names.
 * @returns The chosen folder, or the only one; or the one that all others with this file lie in: the folder of a model may
 *   have folders for parts of it. "" if no folder has the file.
 * @throws OptionError if it is not clear which folder is meant, or the chosen one is not there.
 */
export function modelFolder(
  operation: string,
  paths: readonly string[],
  anchor: string,
  chosen: string | undefined,
): string {
  const folders = paths.filter((path) => path.split("/").at(-1) === anchor).map(folderOf);
  if (chosen !== undefined) return checked(operation, folders, anchor, chosen);
  const [first = "", ...rest] = folders.sort((a, b) => a.length - b.length);
  if (rest.every((folder) => first === "" || folder.startsWith(`${first}/`))) return first;
  throw new OptionError(
    `${operation}: files must have one folder with ${anchor}, or the option folder must name one, ` +
      `got ${folders.map(describe).join(", ")}`,
  );
}

function checked(operation: string, folders: readonly string[], anchor: string, chosen: unknown): string {
  const folder = typeof chosen === "string" ? chosen.replace(/\/+$/, "") : chosen;
  if (folders.includes(folder as string)) return folder as string;
  const allowed = folders.length ? folders.map(describe).join(" or ") : "absent, because no folder has one";
  throw new OptionError(`${operation}: folder must be one that has ${anchor}: ${allowed}, got ${describe(chosen)}`);
}
