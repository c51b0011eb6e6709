import { counted, grouped, significant } from "../../shell/numbers.js";
import type { ShapeBars } from "./bars.js";
import { engineWords, type Row } from "./rows.js";
import type { Settings } from "./settings.js";
import { t } from "../../../texts/t.js";

/** The room's finding: what is shown, and how far apart the engines are. */
export function finding(rows: readonly Row[], files: number, isExample: boolean): string {
  if (rows.length === 0) return t`No file is shown. Drop files that “${"npm run bench -- --json FILE"}” has written.`;
  const count = (name: "shape" | "engine" | "device") => counted(new Set(rows.map((row) => row[name])).size, name);
  const what = isExample ? t`An example` : counted(files, "file");
  return `${what}: ${count("shape")} × ${count("engine")} × ${count("device")}, ${counted(rows.length, "measurement")}. ${widest(rows)}`;
}

/** The largest distance between two engines on one device whose times can be trusted. */
function widest(all: readonly Row[]): string {
  const rows = all.filter(({ busy }) => !busy);
  if (rows.length === 0) return t`Do not trust these times: other programs were using the cores.`;
  const left = all.length - rows.length;
  const note = left > 0 ? ` ${busyWords(left)}` : "";
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = JSON.stringify([row.file, row.device, row.shape]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const pairs = [...groups.values()].map((group) => {
    const ordered = group.toSorted((a, b) => a.median - b.median);
    const [fast, slow] = [ordered[0]!, ordered.at(-1)!];
    return { fast, slow, ratio: slow.median / fast.median };
  });
  const { fast, slow, ratio } = pairs.reduce((most, pair) => (pair.ratio > most.ratio ? pair : most));
  if (fast === slow) return t`No device has two engines to compare.` + note;
  return (
    t`Most apart, ${significant(ratio, 2)} ×, are ${engineWords(fast.engine)} and ${engineWords(slow.engine)} in “${fast.shape}”.` +
    note
  );
}

function busyWords(count: number): string {
  return count === 1
    ? t`1 measurement of a busy device does not count here.`
    : t`${grouped(count)} measurements of a busy device do not count here.`;
}

function withoutWords(count: number): string {
  return count === 1
    ? t`1 measurement without a time of that engine is left out.`
    : t`${grouped(count)} measurements without a time of that engine are left out.`;
}

export function chartWords(
  { show, to, log }: Pick<Settings, "show" | "to" | "log">,
  drawn: readonly ShapeBars[],
): string {
  const what =
    show === "time"
      ? t`Bars are medians of the time of a call; the line on a bar goes from the first quartile to the third.`
      : t`Bars are medians divided by that of ${engineWords(to)} on the same device; below 1 is faster; the line on a bar goes from the first quartile to the third.`;
  const axis = log
    ? t`Axes are logarithmic: read the time at the end of a bar, not from its length.`
    : t`Axes begin at 0.`;
  const without = drawn.reduce((sum, shape) => sum + shape.withoutRatio, 0);
  return [what, axis, ...(without > 0 ? [withoutWords(without)] : [])].join(" ");
}
