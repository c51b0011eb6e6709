// How much disk the npm packages need that commands of this repository install.

import { existsSync, lstatSync, readdirSync } from "node:fs";
import path from "node:path";

import { root } from "../../web/build/paths.mjs";
import { figureText } from "./pages.mjs";
import { readParts, today } from "./file.mjs";

const FOLDERS = ["", "tests/bench", "tests/package", "tests/package/runtimes", "tests/wgpu"];
const nameOf = (folder) => path.posix.join(folder, "node_modules");

/** The root's packages without those of tests/tools, which is what `npm start` installs. */
const TO_RUN = "node_modules without tools";
const isWhole = () => existsSync(path.join(root, "node_modules/headwise-tools"));

/** Figures of the folders that are installed here, each with its date. */
export const installFigures = () => {
  const installed = FOLDERS.map(nameOf).filter((name) => existsSync(path.join(root, name)));
  const keyOf = (name) => (name === nameOf("") && !isWhole() ? TO_RUN : name);
  return Object.fromEntries(installed.map((name) => [keyOf(name), megabytes(bytesIn(path.join(root, name)))]));
};

/** To two digits, because packages differ between systems. */
const megabytes = (bytes) => ({ value: Number((bytes / 1e6).toPrecision(2)), unit: "MB", date: today() });

function bytesIn(folder) {
  const sizes = readdirSync(folder, { withFileTypes: true }).map((entry) => {
    const file = path.join(folder, entry.name);
    return entry.isDirectory() ? bytesIn(file) : lstatSync(file).size;
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** "350 MB": what the packages of a folder of the repository need. */
export const installSize = (folder, withTools = true) =>
  figureText(readParts(), `installs/${withTools ? nameOf(folder) : TO_RUN}`);
