// Makes one JavaScript module of the measure, in node_modules/.cache/.

import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build } from "esbuild";

const folder = fileURLToPath(new URL("../node_modules/.cache/", import.meta.url));

/** The address of the module. */
export async function bundled(file) {
  const outfile = path.join(folder, `${path.parse(file).name}.mjs`);
  await build({
    entryPoints: [file],
    outfile,
    bundle: true,
    format: "esm",
    target: "es2022",
    logLevel: "error",
  });
  return pathToFileURL(outfile).href;
}

export const measureFile = fileURLToPath(new URL("../measure/index.ts", import.meta.url));
