// The report as Markdown: one line for each row, with the command that measures it again.

const SIGN = { held: "yes", failed: "**no**", skipped: "not measured" };

/** A row that held in a quick run was measured with less work than its goal says. */
const signOf = ({ verdict, isQuick }) => (verdict === "held" && isQuick ? "yes, with less work" : SIGN[verdict]);

/** @param {{ machine: string, results: object[] }} report */
export function tableOf({ machine, results }) {
  const lines = results.map((result) => {
    const { name, what, goal, figure } = result;
    return ["", what, goal, figure, signOf(result), `\`npm run trust -- --only=${name}\``, ""].join(" | ").trim();
  });
  return [
    "| what | goal | measured | holds | command |",
    "|---|---|---|---|---|",
    ...lines,
    "",
    `Measured on: ${machine}.`,
    "",
  ].join("\n");
}
