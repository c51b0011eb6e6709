// Measures one row.

import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";

import { build } from "../../web/build/paths.mjs";

const MINUTE = 60_000;

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
    measured = { verdict: "failed", figure: error.message };
  }
  const taken = (Date.now() - started) / MINUTE;
  console.log(`=== ${row.name}: ${measured.verdict}: ${measured.figure} (${taken.toFixed(1)} min)`);
  const { name, what, goal } = row;
  return { name, what, goal, isQuick, seed, minutes: Number(taken.toFixed(1)), ...measured };
}
