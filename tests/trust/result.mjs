// Measures one row.

import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";

import { build, root } from "../../web/build/paths.mjs";

const MINUTE = 60_000;

/**
 * What a cell of the table says of an error: the line that names it, for a program prints more, and no folder of this
 * machine.
 */
function cellOf(message) {
  const lines = message.split("\n").filter((line) => line.trim() !== "");
  const line = lines.findLast((each) => /^\w*Error: /.test(each)) ?? lines[0] ?? "an error without a message";
  return line.replaceAll(`${root}${path.sep}`, "").replaceAll("|", "\\|");
}

/** A row that throws has failed, with the message as its figure. */
export async function resultOf(row, { quick: isQuick, seed }) {
  const minutes = row.minutes[isQuick ? "quick" : "whole"];
  console.log(`\n=== ${row.name}: ${row.what} (budget ${minutes} min)`);
  const started = Date.now();
  const folder = path.join(build, "trust", row.name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let measured;
  try {
    measured = await row.measure({ isQuick, seed, folder });
  } catch (error) {
    console.log(error.message);
    measured = { verdict: "failed", figure: cellOf(error.message) };
  }
  const taken = (Date.now() - started) / MINUTE;
  console.log(`=== ${row.name}: ${measured.verdict}: ${measured.figure} (${taken.toFixed(1)} min)`);
  const { name, what, goal } = row;
  return { name, what, goal, isQuick, seed, minutes: Number(taken.toFixed(1)), ...measured };
}
