// npm run docs: makes build/docs, a folder for any static web server: the guides, the API of every entry, the demo. Listings of
// the guides run in the page, with the package's own files.

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { cp } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

import { buildToRun } from "./build.mjs";
import { build, dist, root } from "./paths.mjs";
import { run, say } from "./run.mjs";
import { optionsOf } from "./usage.mjs";

const USAGE = `npm run docs -- [options]: build/docs, the pages and the API as a folder for any static web server
  --help    this text`;

const site = path.join(build, "docs");

/** What listings in TypeScript and React need beside the package. */
const OTHERS = ["react", "react/jsx-runtime", "react-dom/client", "sucrase"];
const fileOf = (name) => `listings/${name.replaceAll("/", "-")}.js`;

/** Exports each name of a package in CommonJS, which its file does not list. */
const namesOf = {
  name: "names-of",
  setup(build) {
    const require = createRequire(import.meta.url);
    build.onResolve({ filter: /^names-of:/ }, (found) => ({
      path: found.path.slice("names-of:".length),
      namespace: "names-of",
    }));
    build.onLoad({ filter: /./, namespace: "names-of" }, ({ path: name }) => ({
      contents: `export { ${Object.keys(require(name)).join(", ")} } from "${name}";`,
      resolveDir: root,
    }));
  },
};

try {
  optionsOf(USAGE);
  await buildToRun();
  await bundleListings();
  await runTypeDoc();
  const { buildSite } = await import("../demo/site.mjs"); // needs the packages
  await cp(buildSite(), path.join(site, "demo"), { recursive: true });
  copyPackage();
  await bundleOthers();
  say(`docs: ${path.relative(root, site)}/index.html`);
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}

/** TypeDoc takes its own path for a pattern, and finds nothing in a folder such as "my (copy)": so it goes through a plain one. */
async function runTypeDoc() {
  const folder = mkdtempSync(path.join(tmpdir(), "headwise-docs-"));
  const link = path.join(folder, "root");
  try {
    symlinkSync(root, link, "junction");
    await run(process.execPath, ["node_modules/typedoc/bin/typedoc", "--options", path.join(link, "web/typedoc.json")]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The script of all pages that makes their listings run. */
async function bundleListings() {
  const { build: bundle } = await import("esbuild");
  await bundle({
    entryPoints: [path.join(root, "web/demo/listings/listings.ts")],
    outfile: path.join(build, "listings.js"),
    bundle: true,
    minify: true,
    target: "es2022",
    define: { IMPORTS: JSON.stringify(importsOfPage()) },
    external: OTHERS,
    logLevel: "error",
  });
}

/** Makes a module of each of OTHERS. Where they need one package, it is in a file that they share. */
async function bundleOthers() {
  const { build: bundle } = await import("esbuild");
  await bundle({
    entryPoints: OTHERS.map((name) => ({ in: `names-of:${name}`, out: fileOf(name).replace(/\.js$/, "") })),
    outdir: site,
    chunkNames: "listings/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    minify: true,
    target: "es2022",
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [namesOf],
    logLevel: "error",
  });
}

/** What a page can import: the entries of the package, and what listings need beside it. With their files in the site. */
function importsOfPage() {
  const { name, exports } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const entries = Object.entries(exports).filter(([, target]) => target.default);
  const files = entries.map(([entry, target]) => [
    path.posix.join(name, entry),
    target.default.replace("./dist/", "package/"),
  ]);
  return Object.fromEntries([...files, ...OTHERS.map((other) => [other, fileOf(other)])]);
}

/** The files of the package that pages load. */
function copyPackage() {
  const isLoaded = (file) => !/\.(cjs|map)$|\.node\.js$|^types$/.test(path.basename(file));
  cpSync(dist, path.join(site, "package"), { recursive: true, filter: isLoaded });
}
