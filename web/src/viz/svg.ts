import { pixelOf } from "./axis.js";
import type { Bins, ByAxis, Span } from "./bins.js";
import type { CellNumbers } from "./cellNumbers.js";
import { colourOf, type ColourTable } from "./colours.js";
import { anchorOf, axisLabels, LABEL_GAP, LABEL_SIZE, type AxisTexts } from "./labels.js";
import type { MapLayout } from "./mapLayout.js";
import { texts } from "./texts.js";
import type { Theme } from "./theme.js";

/** What the SVG file of a map shows. */
export interface MapSvg {
  readonly title: string;
  readonly layout: MapLayout;
  readonly sight: ByAxis<Span>;
  readonly bins: Bins;
  readonly block: ByAxis<number>;
  readonly table: ColourTable;
  readonly labels: ByAxis<AxisTexts>;
  readonly numbers: CellNumbers | undefined;
  readonly theme: Theme;
}

/** A map as an SVG file: one rectangle for each run of blocks of the same colour, and text for the labels. */
export function mapSvg(map: MapSvg): string {
  const { layout, theme } = map;
  const width = layout.left + layout.width + layout.right;
  const height = layout.top + layout.height;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${escaped(theme.fontFamily)}" font-size="${LABEL_SIZE}" direction="ltr">
<title>${escaped(map.title)}</title>
<desc>${escaped(describeBlock(map.block))}</desc>
<defs>
<pattern id="hidden" width="6" height="6" patternUnits="userSpaceOnUse"><path d="M0 6 6 0" stroke="${theme.hatch}"/></pattern>
</defs>
<rect width="100%" height="100%" fill="${theme.surface}"/>
<g transform="translate(${layout.left} ${layout.top})">
<svg width="${layout.width}" height="${layout.height}" shape-rendering="crispEdges">
${cells(map).join("\n")}
${cellTexts(map).join("\n")}
</svg>
<g fill="${theme.ink}">
${rowLabels(map).join("\n")}
${columnLabels(map).join("\n")}
</g>
</g>
</svg>
`;
}

function describeBlock({ rows, columns }: ByAxis<number>): string {
  return rows * columns === 1 ? texts().svgCells : texts().svgBlocks(rows, columns);
}

function cells({ bins, block, layout, sight, table }: MapSvg): string[] {
  const rects: string[] = [];
  for (let y = 0; y < bins.down; ++y) {
    if (!bins.known[y]) continue;
    const top = pixelOf(bins.cells.rows.from + y * block.rows, sight.rows, layout.height);
    const bottom = pixelOf(bins.cells.rows.from + (y + 1) * block.rows, sight.rows, layout.height);
    const fills = Array.from(bins.values.subarray(y * bins.across, (y + 1) * bins.across), (value) =>
      fillOf(value, table),
    );
    for (const { from, to, fill } of runs(fills)) {
      const [left, right] = [from, to].map((x) =>
        pixelOf(bins.cells.columns.from + x * block.columns, sight.columns, layout.width),
      ) as [number, number];
      rects.push(
        `<rect x="${short(left)}" y="${short(top)}" width="${short(right - left)}" height="${short(bottom - top)}" fill="${fill}"/>`,
      );
    }
  }
  return rects;
}

function fillOf(value: number, table: ColourTable): string {
  return value === -Infinity ? "url(#hidden)" : colourOf(value, table);
}

function cellTexts({ numbers, layout, sight }: MapSvg): string[] {
  const size = short(numbers?.size ?? 0);
  return (numbers?.items ?? []).map(({ row, column, text, ink }) => {
    const x = short(pixelOf(column + 0.5, sight.columns, layout.width));
    const y = short(pixelOf(row + 0.5, sight.rows, layout.height));
    return `<text x="${x}" y="${y}" font-size="${size}" fill="${ink}" text-anchor="middle" dominant-baseline="central">${escaped(text)}</text>`;
  });
}

function runs(fills: readonly string[]): { readonly from: number; readonly to: number; readonly fill: string }[] {
  const starts = fills.flatMap((fill, x) => (fill === fills[x - 1] ? [] : [x]));
  return starts.map((from, i) => ({ from, to: starts[i + 1] ?? fills.length, fill: fills[from]! }));
}

function rowLabels({ labels, sight, layout }: MapSvg): string[] {
  const { texts } = axisLabels(labels.rows, sight.rows, layout.height, 0, true);
  return texts.flatMap(({ cell, text }) => {
    const y = anchorOf(cell, sight.rows, layout.height);
    if (y === undefined) return [];
    return `<text x="${-LABEL_GAP}" y="${short(y)}" text-anchor="end" dominant-baseline="central">${escaped(text)}</text>`;
  });
}

function columnLabels({ labels, sight, layout }: MapSvg): string[] {
  const { texts, turn } = axisLabels(labels.columns, sight.columns, layout.width, layout.turn, false);
  const degrees = short((turn * 180) / Math.PI);
  return texts.flatMap(({ cell, text }) => {
    const x = anchorOf(cell, sight.columns, layout.width);
    if (x === undefined) return [];
    const place = `translate(${short(x)} ${-LABEL_GAP - LABEL_SIZE / 3}) rotate(${degrees})`;
    return `<text transform="${place}" text-anchor="${turn ? "start" : "middle"}" dominant-baseline="central">${escaped(text)}</text>`;
  });
}

export function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // XML cannot contain these characters; they become the replacement character
  const held = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd"); // oxlint-disable-line no-control-regex
  return held.replace(/[&<>"]/g, (letter) => names[letter]!);
}

const short = (n: number) => Number(n.toFixed(2));
