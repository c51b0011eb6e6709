// node tests/attention-conformance/scoreboard.mjs record [ADAPTER…] [--few COUNT] [--runner chromium|node]: measures the
// engines in Chromium and in this Node, and writes scoreboard.json and scoreboard.md. With adapters, only their columns are
// new. With --few, so many rows of each heading are measured.
// node tests/attention-conformance/scoreboard.mjs render: writes scoreboard.md from scoreboard.json.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { bundled, measureFile } from "./runner/bundle.mjs";
import { adapterNames } from "./runner/packages.mjs";
import { renderScoreboard } from "./runner/render.mjs";
import { summary } from "./runner/summary.mjs";

const JSON_FILE = new URL("scoreboard.json", import.meta.url);
const PAGE_FILE = new URL("scoreboard.md", import.meta.url);

/** Rows of each heading for engines on a software adapter. */
const FEW = "2";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { few: { type: "string" }, runner: { type: "string" } },
});
const [action, ...only] = positionals;
if (action === "record") await record();
else if (action !== "render") throw new Error("say record or render");
const confirmed = JSON.parse(await readFile(new URL("confirmed.json", import.meta.url), "utf8"));
await writeFile(PAGE_FILE, renderScoreboard(JSON.parse(await readFile(JSON_FILE, "utf8")), confirmed));

/** Writes the file after each engine, so that a long recording can be stopped. */
async function record() {
  const { version } = JSON.parse(await readFile(new URL("package.json", import.meta.url), "utf8"));
  const { CATEGORIES } = await import(await bundled(measureFile));
  const runs = existsSync(JSON_FILE) ? JSON.parse(await readFile(JSON_FILE, "utf8")).runs : [];
  for (const adapter of adapterNames())
    for (const runner of values.runner ? [values.runner] : ["chromium", "node"]) {
      if (only.length > 0 && !only.includes(adapter)) continue;
      const run = await runOf(adapter, runner);
      const at = runs.findIndex((other) => other.adapter === adapter && other.runner === runner);
      runs.splice(at < 0 ? runs.length : at, 1, run);
      console.log(`${runner} ${adapter}: ${run.notRun ?? "measured"}`);
      const recorded = new Date().toISOString().slice(0, 10);
      await writeFile(
        JSON_FILE,
        `${JSON.stringify({ suite: version, recorded, headings: CATEGORIES, runs }, null, 1)}\n`,
      );
    }
}

async function runOf(adapter, runner) {
  const { name, needs, packages } = await import(`./adapters/${adapter}.mjs`);
  const about = { engine: name, adapter, runner, packages };
  if (runner === "node" && needs) return { ...about, notRun: `Node has no ${needs}` };
  const program = fileURLToPath(new URL(`runner/${runner}.mjs`, import.meta.url));
  const few = values.few ?? (needs && FEW);
  const options = few ? ["--few", few] : [];
  const command = ["node", `tests/attention-conformance/runner/${runner}.mjs`, adapter, ...options].join(" ");
  const lines = [await linesOf(program, adapter, ...options), await linesOf(program, adapter, "--memory")];
  const [{ version, platform } = {}, ...checks] = lines[0].records;
  if (!version) return { ...about, notRun: lines[0].error || "it printed nothing" };
  const memory = lines[1].records.filter(({ category }) => category);
  const ended = lines[0].error && { endedEarly: lines[0].error };
  return { ...about, version, platform, command, ...ended, categories: summary([...checks, ...memory]) };
}

/** What a runner prints, and why it failed if it did. */
function linesOf(program, ...args) {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const records = [];
  let errors = "";
  createInterface({ input: child.stdout }).on("line", (line) => {
    if (line.startsWith("{")) records.push(JSON.parse(line));
  });
  child.stderr.on("data", (text) => (errors += text));
  return new Promise((resolve) =>
    child.on("close", (code) => resolve({ records, error: code === 0 ? "" : reasonOf(errors) })),
  );
}

function reasonOf(errors) {
  return /(?:^|: )Error: (.+)/m.exec(errors)?.[1].slice(0, 200) ?? errors.trim().slice(0, 200);
}
