// Two files that share modules, without an import from one to the other: the entry has the modules, and hands a list of
// their exports over when it calls the file that it has loaded.

import { readFile } from "node:fs/promises";
import path from "node:path";

import { build as esbuild } from "esbuild";

/**
 * A plugin for the file that is handed the list, as its parameter `shared`: what it imports of the modules is taken from
 * there, and a name that is not there is an error.
 *
 * @param {string} source - The module that exports the list, `export const shared = [name, …]`.
 */
export async function takingFrom(source, options) {
  const text = await readFile(path.resolve(options.absWorkingDir, source), "utf8");
  const [, names] = /export const shared = \[([^\]]+)\]/.exec(text);
  const { metafile } = await esbuild({ ...options, entryPoints: [source], outdir: "-", write: false });
  const modules = metafile.inputs[source].imports.map((imported) => path.resolve(options.absWorkingDir, imported.path));
  return {
    name: "taking",
    setup(build) {
      build.onResolve({ filter: /^\./ }, ({ path: specifier, resolveDir }) => {
        const isShared = modules.includes(path.resolve(resolveDir, specifier.replace(/\.js$/, ".ts")));
        return isShared ? { path: "the entry", namespace: "shared" } : undefined;
      });
      build.onLoad({ filter: /.*/, namespace: "shared" }, () => ({ contents: `export const [${names}] = shared;` }));
    },
  };
}
