// Checks, counted under their headings.

const EXAMPLES = 3;
const REASONS = 4;

/** @returns {Record<string, object>} by heading: counts, the largest error of each verdict, examples, reasons */
export function summary(checks) {
  const headings = {};
  for (const check of checks) add((headings[check.category] ??= {}), check);
  for (const heading of Object.values(headings)) trim(heading);
  return headings;
}

function add(heading, { name, verdict, error, note }) {
  const empty = verdict === "refused" ? { kinds: {}, reasons: {} } : { largest: 0 };
  const entry = (heading[verdict] ??= { count: 0, ...empty });
  entry.count++;
  if (verdict === "refused") {
    const kind = note.split(":", 1)[0];
    entry.kinds[kind] = (entry.kinds[kind] ?? 0) + 1;
    const reason = note.replace(/\d+/g, "#");
    entry.reasons[reason] = (entry.reasons[reason] ?? 0) + 1;
    return;
  }
  entry.largest =
    error === "Infinity" || entry.largest === "Infinity" ? "Infinity" : Math.max(entry.largest, rounded(error));
  if (verdict === "passed") {
    if (note) entry.note = note;
  } else (entry.examples ??= []).push({ name, error: error === "Infinity" ? error : rounded(error), note });
}

/** Keeps the worst examples and the most frequent reasons. */
function trim(heading) {
  const size = ({ error }) => (error === "Infinity" ? Infinity : error);
  for (const entry of Object.values(heading)) {
    if (entry.examples) entry.examples = entry.examples.sort((a, b) => size(b) - size(a) || 0).slice(0, EXAMPLES);
    if (entry.reasons) {
      const all = Object.entries(entry.reasons).sort(([, a], [, b]) => b - a);
      entry.reasons = Object.fromEntries(all.slice(0, REASONS));
    }
  }
}

const rounded = (error) => Number(error.toPrecision(2));
