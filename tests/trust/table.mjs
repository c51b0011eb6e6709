// The report as a table: one row for each promise, with the command that measures it again.

import { tableText } from "../figures/pages.mjs";

const SIGN = { held: "yes", failed: "**no**", skipped: "not measured" };

/** A row that held in a quick run was measured with less work than its goal says. A time above the goal fails no row. */
function signOf({ verdict, isQuick, isLate, without }) {
  if (verdict !== "held") return SIGN[verdict];
  if (isLate) return "right, but **not in time**";
  const yes = isQuick ? "yes, with less work" : SIGN.held;
  return without ? `${yes}, without ${without}` : yes;
}

const COLUMNS = ["what", "goal", "measured", "holds", "command", "when, where"];

const cellsOf = (result, { date, machine }) => {
  const { name, what, goal, figure } = result;
  return [what, goal, figure, signOf(result), `\`npm run trust -- --only=${name}\``, `${date}, ${machine}`];
};

/** @param {{ date: string, machine: string, results: object[] }} report */
export const partOf = (report) => ({
  commands: ["npm run trust -- --record"],
  columns: COLUMNS,
  rows: Object.fromEntries(report.results.map((result) => [result.name, cellsOf(result, report)])),
});

/** The report as Markdown. */
export const tableOf = (report) => `${tableText(partOf(report))}\n`;
