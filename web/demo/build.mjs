/**
 * Bundles the demo into dist-demo/: cli.js for Node, page/ for the browser.
 * headwise itself stays outside, as for any user: Node finds the package, the page's worker imports ./headwise/index.js,
 * which the command's server maps to dist/.
 */
import { cp, mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build } from "esbuild";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const ROOT = path.resolve(HERE, "../..");

export async function buildDemo({ root = ROOT } = {}) {
  const out = path.join(root, "dist-demo");
  const common = { bundle: true, format: "esm", logLevel: "warning", absWorkingDir: HERE };
  await mkdir(path.join(out, "page"), { recursive: true });
  await Promise.all([
    build({
      ...common,
      entryPoints: ["cli/main.ts"],
      outfile: path.join(out, "cli.js"),
      platform: "node",
      target: "node20",
      external: ["headwise"],
    }),
    build({
      ...common,
      entryPoints: ["page/page.ts", "page/worker.ts", "page/page.css"],
      outdir: path.join(out, "page"),
      platform: "browser",
      target: "es2022",
      minify: true,
      plugins: [headwiseBesideThePage],
    }),
    cp(path.join(HERE, "page/index.html"), path.join(out, "page/index.html")),
  ]);
}

const headwiseBesideThePage = {
  name: "headwise-beside-the-page",
  setup(bundle) {
    bundle.onResolve({ filter: /^headwise$/ }, () => ({ path: "./headwise/index.js", external: true }));
  },
};

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) await buildDemo();
