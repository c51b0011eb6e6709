// npm run figures: measures what a visitor downloads and what commands install, and puts all figures into the pages.
//
//   npm run figures               builds the package, measures its sizes
//   npm run figures -- --peers    also the sizes of other libraries: fetches their packages from npm
//
// Times come from `npm run bench -- --record TABLE` and `npm run trust -- --record`.

import { parseArgs } from "node:util";

import { buildAll } from "../../web/build/build.mjs";
import { say } from "../../web/build/run.mjs";
import { keep, keepFigures, today } from "./file.mjs";
import { installFigures } from "./installs.mjs";
import { fillPages } from "./pages.mjs";
import { peerRows } from "./peers.mjs";

const PEER_COLUMNS = ["package", "files", "KB"];

try {
  const { values } = parseArgs({ options: { peers: { type: "boolean", default: false } } });
  await buildAll();
  const { builtFigures } = await import("./built.mjs"); // needs the packages
  const made = { date: today(), machine: `Node ${process.versions.node}, zlib ${process.versions.zlib}` };
  keep("build", { commands: ["npm run figures"], ...made, figures: builtFigures() });
  const system = `${process.platform}, ${process.arch}`;
  keepFigures("installs", { commands: ["npm run figures"], machine: system, figures: installFigures() });
  if (values.peers)
    keep("peers", { commands: ["npm run figures -- --peers"], ...made, columns: PEER_COLUMNS, rows: peerRows() });
  fillPages();
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
