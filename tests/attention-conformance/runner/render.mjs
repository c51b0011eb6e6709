// scoreboard.json as a page. A verdict against an engine is printed only when confirmed.json says how it was checked.

const PLATFORMS = { chromium: "In Chromium", node: "In Node" };

/** @param {object} board - scoreboard.json   @param {object[]} confirmed - confirmed.json */
export function renderScoreboard(board, confirmed) {
  const lines = [
    "# Scoreboard",
    "",
    `Written by \`scoreboard.mjs\` from \`scoreboard.json\`: do not edit. Suite ${board.suite}, recorded ${board.recorded}.`,
    "What the headings mean is in [SEMANTICS.md](SEMANTICS.md), how a verdict is reached in [README.md](README.md).",
    "",
    "A number counts checks. In brackets is the largest error of those checks, in units of the tolerance: up to 1 passes, up",
    "to 64 is imprecise, more is wrong. “not offered” means that the engine's interface has no such option; “not promised”",
    "that the result differs, and the engine's documents do not say what it has to be; “refused” that the engine throws.",
    "tfjs has no attention: its columns judge the formula written in its operators. WebGPU is Chromium's software adapter.",
    "With `--few N` among the commands below, N rows of each heading were measured.",
    ...Object.entries(PLATFORMS).flatMap(([runner, title]) => table(board, runner, title, confirmed)),
    ...findings(board, confirmed),
    ...refusals(board),
    ...commands(board),
  ];
  return `${lines.join("\n")}\n`;
}

function table({ runs, headings }, runner, title, confirmed) {
  const columns = runs.filter((run) => run.runner === runner && !run.notRun);
  if (columns.length === 0) return [];
  const platform = columns[0].platform.split(" ").slice(1).join(" ");
  const head = ["", ...columns.map(({ engine, version }) => `${engine} ${version}`)];
  return [
    "",
    `## ${title} ${platform}`,
    "",
    ...runs
      .filter((run) => run.runner === runner && run.notRun)
      .flatMap(({ engine, notRun }) => [`${engine}: not run: ${notRun}.`, ""]),
    ...columns
      .filter((run) => run.endedEarly)
      .flatMap(({ engine, endedEarly }) => [`${engine} ended early: ${endedEarly}.`, ""]),
    row(head),
    row(head.map(() => "---")),
    ...headings.map((heading) => row([heading, ...columns.map((run) => cell(run, heading, confirmed))])),
  ];
}

const row = (cells) => `| ${cells.join(" | ")} |`;

function cell(run, heading, confirmed) {
  const counts = run.categories[heading];
  if (!counts) return "–";
  const { passed, imprecise, wrong, refused } = counts;
  const isConfirmed = confirmationOf(run, heading, confirmed);
  const against = (entry, verdict) =>
    entry && (isConfirmed ? `**${entry.count} ${verdict}** (${sized(entry)})` : `${entry.count} not confirmed`);
  return [
    passed && `${passed.count} passed (${heading === "memory" ? passed.note : sized(passed)})`,
    against(imprecise, "imprecise"),
    against(wrong, / MiB$/.test(wrong?.examples[0].note) ? `over the limit, ${wrong.examples[0].note}` : "wrong"),
    ...Object.entries(refused?.kinds ?? {}).map(([kind, count]) => `${count} ${kind === "throws" ? "refused" : kind}`),
  ]
    .filter(Boolean)
    .join(", ");
}

const sized = ({ largest }) => (largest === "Infinity" ? "∞" : String(largest));

/** Verdicts on the engine of this repository need no confirmation: its own tests would fail. */
export function confirmationOf({ adapter, version }, heading, confirmed) {
  if (adapter.startsWith("headwise")) return {};
  return confirmed.find(
    (entry) => entry.adapters.includes(adapter) && entry.version === version && entry.headings.includes(heading),
  );
}

function findings({ runs }, confirmed) {
  const used = confirmed.filter(({ adapters, version }) =>
    runs.some((run) => adapters.includes(run.adapter) && run.version === version),
  );
  return [
    "",
    "## What was wrong, and how it was checked",
    "",
    used.length === 0
      ? "Nothing has been confirmed yet, so no verdict on another engine is printed."
      : "Every verdict below was checked twice by hand: by a program that uses no part of the suite, and by reading the engine's documents and source.",
    ...used.flatMap(({ title, version, headings, finding, command, expected, got, date, contract }) => [
      "",
      `**${title} ${version}: ${headings.join(", ")}.** ${finding}`,
      "",
      `1. \`${command}\`, ${date}: expected ${expected}; got ${got}.`,
      `2. ${contract}`,
    ]),
  ];
}

function refusals({ runs }) {
  const thrown = runs.filter(({ notRun }) => !notRun).flatMap(thrownBy);
  return ["", "## What engines refuse by throwing", "", ...(thrown.length > 0 ? thrown : ["Nothing."])];
}

function thrownBy({ engine, runner, categories }) {
  const reasons = {};
  for (const [heading, { refused }] of Object.entries(categories))
    for (const [reason, count] of Object.entries(refused?.reasons ?? {}))
      if (reason.startsWith("throws")) (reasons[reason] ??= []).push(`${heading} ${count}`);
  return Object.entries(reasons).map(
    ([reason, headings]) =>
      `- ${engine}, ${runner}: ${reason.replace(/^throws: /, "").replaceAll("|", "\\|")} — ${headings.join(", ")}`,
  );
}

function commands({ runs }) {
  return [
    "",
    "## Commands",
    "",
    ...runs
      .filter(({ notRun }) => !notRun)
      .map(({ engine, version, platform, command }) => `- ${engine} ${version}, ${platform}: \`${command}\``),
  ];
}
