// Serves the suite to a page: the measure, the cases, the adapters, and the packages that the adapters load.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { bundled, measureFile } from "./bundle.mjs";
import { folderOf, headwiseFile, suiteFolder } from "./packages.mjs";
import { readSuite } from "./suite.mjs";

const TYPES = {
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
  ".json": "application/json",
};
const ISOLATION = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
const EMPTY = "<!doctype html><link rel=icon href=data:,><title>attention-conformance</title>";

/** @param adapterFolder - where the page finds its adapter */
const routes = (adapterFolder) => [
  [/^\/$/, () => [EMPTY, "text/html"]],
  [/^\/measure\.mjs$/, async () => file(fileURLToPath(await bundled(measureFile)))],
  [
    /^\/suite\.json$/,
    (_, query) => [JSON.stringify(readSuite(new RegExp(query.get("filter") || "."))), TYPES[".json"]],
  ],
  [/^\/runner\/[\w-]+\.mjs$/, ([name]) => file(path.join(suiteFolder, name))],
  [/^\/adapters\/([\w-]+\.mjs)$/, ([, name]) => file(path.join(adapterFolder, name))],
  [/^\/packages\/((?:@[^/]+\/)?[^/]+)\/(.+)$/, ([, name, rest]) => file(path.join(folderOf(name), rest))],
  [/^\/bundle\/(.+)$/, ([, names]) => bundleOf(decodeURIComponent(names).split(","))],
];

async function file(where) {
  return [await readFile(where), TYPES[path.extname(where)] ?? "text/plain"];
}

/** Packages in one module: m0, m1 … are theirs. */
async function bundleOf(names) {
  const { outputFiles } = await build({
    stdin: {
      contents: names.map((name, k) => `export * as m${k} from ${JSON.stringify(name)};`).join("\n"),
      resolveDir: suiteFolder,
    },
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    conditions: ["onnxruntime-web-use-extern-wasm"],
    logLevel: "error",
  });
  return [outputFiles[0].text, TYPES[".js"]];
}

/** @returns {Promise<{ url: string, stop: () => void }>} */
export async function serveSuite(adapterFolder) {
  const all = routes(adapterFolder);
  const server = createServer(async ({ url }, response) => {
    const { pathname, searchParams } = new URL(url, "http://localhost");
    try {
      const own = /^\/own\/(.+)$/.exec(pathname)?.[1];
      if (own) {
        const place = path.relative(folderOf("headwise"), headwiseFile(own, "browser"));
        return response.writeHead(302, { ...ISOLATION, location: `/packages/headwise/${place}` }).end();
      }
      const [pattern, answer] = all.find(([each]) => each.test(pathname));
      const [body, type] = await answer(pattern.exec(pathname), searchParams);
      response.writeHead(200, { ...ISOLATION, "content-type": type }).end(body);
    } catch (error) {
      response.writeHead(404, ISOLATION).end(String(error));
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}/`, stop };
}
