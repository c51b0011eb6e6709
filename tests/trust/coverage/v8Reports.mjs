// Reads V8's counts from a folder. monocart-coverage-reports leads them back to the lines and branches of web/src.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { CoverageReport } from "monocart-coverage-reports";

import { dist, root } from "../../../web/build/paths.mjs";
import typescript from "../../typescript.mjs";

const isBundle = ({ url }) => path.posix.dirname(url) === pathToFileURL(dist).href && /\.c?js$/.test(url);
const isSource = ({ url }) => url.startsWith(`${pathToFileURL(path.join(root, "web/src"))}/`) && url.endsWith(".ts");

/**
 * Three reports on the same sources: the built package in Node, the built package in pages of Chromium, and sources that
 * tests import directly. They cannot be one: the V8 of Node and that of Chromium do not give a function the same range, and
 * then the counts of one hide those of the other.
 *
 * @param {string} counts - the folder into which V8 has written
 * @param {string} folder - for what the reporter writes
 * @returns {Promise<object[][]>} the files of each report, as `united` takes them
 */
export async function reportsOf(counts, folder) {
  const files = readdirSync(counts).filter((name) => name.endsWith(".json"));
  const isPage = (name) => name.startsWith("coverage-page-");
  const parts = [
    {
      name: "node",
      files: files.filter((name) => !isPage(name)),
      isCounted: isBundle,
      textOf,
      first: unloaded(),
    },
    { name: "pages", files: files.filter(isPage), isCounted: isBundle, textOf, first: [] },
    { name: "sources", files: files.filter((name) => !isPage(name)), isCounted: isSource, textOf: compiled, first: [] },
  ];
  const reports = [];
  for (const part of parts) reports.push(await reportOf(part, counts, path.join(folder, part.name)));
  return reports;
}

async function reportOf({ files, isCounted, textOf, first }, counts, outputDir) {
  const report = new CoverageReport({
    outputDir,
    baseDir: root,
    reports: [["json-summary"]],
    logging: "error",
    sourceFilter: (source) => /^web\/src\/.*\.ts$/.test(source),
  });
  const texts = new Map();
  const textAt = (url) => {
    if (!texts.has(url)) texts.set(url, textOf(fileURLToPath(url)));
    return texts.get(url);
  };
  const add = async (scripts) => {
    const entries = scripts.map(({ url, functions }) => ({ url, functions, source: textAt(url), ...mapOf(url) }));
    if (entries.length > 0) await report.add(entries);
  };
  await add(first);
  for (const name of files) {
    const { result } = JSON.parse(readFileSync(path.join(counts, name), "utf8"));
    await add(result.filter(isCounted));
  }
  return (await report.generate())?.files ?? [];
}

const textOf = (file) => readFileSync(file, "utf8");

/** The source map of a bundle: most name none. */
function mapOf(url) {
  const file = `${fileURLToPath(url)}.map`;
  return existsSync(file) ? { sourceMap: JSON.parse(textOf(file)) } : {};
}

/** A source as Jest has compiled it, with its source map. */
function compiled(file) {
  const options = { supportsStaticESM: true, supportsDynamicImport: true, config: { rootDir: root } };
  return typescript.process(textOf(file), file, { ...options, transformerConfig: {} }).code;
}

/** Counts in which no line of a bundle has run: so bundles that no test loads count, too. */
function unloaded() {
  const bundles = readdirSync(dist).filter((name) => name.endsWith(".js"));
  return bundles.map((name) => {
    const file = path.join(dist, name);
    const ranges = [{ startOffset: 0, endOffset: textOf(file).length, count: 0 }];
    return { url: pathToFileURL(file).href, functions: [{ functionName: "", isBlockCoverage: true, ranges }] };
  });
}
