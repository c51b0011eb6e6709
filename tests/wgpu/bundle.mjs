// Makes one module of a test file of tests/webgpu/ for a runtime other than Node: Jest and the npm package webgpu are
// replaced; the package is the built one.

import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build } from "esbuild";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const root = here("../../");

const REPLACED = { "@jest/globals": here("jest.mjs"), webgpu: here("webgpu.mjs") };

const replacing = {
  name: "replacing",
  setup(bundle) {
    bundle.onResolve({ filter: /^(@jest\/globals|webgpu)$/ }, ({ path: name }) => ({ path: REPLACED[name] }));
    bundle.onResolve({ filter: /^headwise(\/|$)/ }, ({ path: name }) => {
      const entry = name === "headwise" ? "index.node" : name.slice("headwise/".length);
      return { path: pathToFileURL(path.join(root, `dist/${entry}.js`)).href, external: true };
    });
    // Each module still knows where it lies.
    bundle.onLoad({ filter: /\/(tests|web)\/.*\.m?[jt]s$/ }, ({ path: file }) => ({
      contents: readFileSync(file, "utf8").replaceAll("import.meta.url", JSON.stringify(pathToFileURL(file).href)),
      loader: file.endsWith(".ts") ? "ts" : "js",
    }));
  },
};

/** What packages in the older format of Node take for granted. */
const OLDER_FORMAT = `import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
const { dirname: __dirname, filename: __filename } = import.meta;`;

/** @param {string} name - of a file in tests/webgpu/, without its ending */
export async function bundleTest(name, outfile) {
  const file = path.join(root, `tests/webgpu/${name}.test.ts`);
  await build({
    stdin: {
      contents: `import ${JSON.stringify(file)}; export { runAll } from "@jest/globals";`,
      resolveDir: root,
    },
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "es2022",
    ignoreAnnotations: true, // package.json says that files of the package have no effects; tests have
    logLevel: "error",
    loader: { ".wgsl": "text" },
    banner: { js: OLDER_FORMAT },
    plugins: [replacing],
  });
}
