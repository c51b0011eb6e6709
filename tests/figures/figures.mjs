// npm run figures: measures what a visitor downloads and what commands install, and puts all figures into the pages.

import { buildAll } from "../../web/build/build.mjs";
import { say } from "../../web/build/run.mjs";
import { optionsOf } from "../../web/build/usage.mjs";
import { keep, keepFigures, today } from "./file.mjs";
import { installFigures } from "./installs.mjs";
import { fillPages } from "./pages.mjs";

const USAGE = `npm run figures -- [options]: builds the package, measures its sizes, and fills the pages
  --peers    also the sizes of other libraries: fetches their packages from npm
  --help     this text
Times come from npm run bench -- --record TABLE and npm run trust -- --record.`;

const PEER_COLUMNS = ["package", "files", "KB"];

try {
  const options = optionsOf(USAGE);
  await buildAll();
  const { builtFigures } = await import("./built.mjs"); // needs the packages
  const made = { date: today(), machine: `Node ${process.versions.node}, zlib ${process.versions.zlib}` };
  keep("build", { commands: ["npm run figures"], ...made, figures: builtFigures() });
  const system = `${process.platform}, ${process.arch}`;
  keepFigures("installs", { commands: ["npm run figures"], machine: system, figures: installFigures() });
  if (options.peers) {
    const { peerRows } = await import("./peers.mjs"); // needs the packages
    keep("peers", { commands: ["npm run figures -- --peers"], ...made, columns: PEER_COLUMNS, rows: peerRows() });
  }
  fillPages();
} catch (error) {
  say(error.message);
  process.exitCode = 1;
}
