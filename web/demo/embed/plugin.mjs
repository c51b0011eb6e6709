// A plugin for Vite: puts the element <headwise-figure> beside the page, always as embed.js.

import path from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const ENTRY = fileURLToPath(new URL("headwiseFigure.ts", import.meta.url));

/** @returns {import("vite").Plugin} */
export function embedScript() {
  return {
    name: "embed-script",
    apply: "build",
    async generateBundle() {
      const { outputFiles } = await build({
        ...{ entryPoints: [ENTRY], absWorkingDir: path.dirname(ENTRY), write: false, logLevel: "warning" },
        ...{ bundle: true, format: "esm", minify: true, target: "es2022" },
      });
      this.emitFile({ type: "asset", fileName: "embed.js", source: outputFiles[0].text });
    },
  };
}
