import type { ByAxis, Span } from "./bins.js";
import { anchorOf, axisLabels, LABEL_GAP, LABEL_SIZE, type AxisTexts } from "./labels.js";
import type { MapLayout } from "./mapLayout.js";
import type { Theme } from "./theme.js";

export function fontOf(theme: Theme, weight = 400): string {
  return `${weight} ${LABEL_SIZE}px ${theme.fontFamily}`;
}

/** Draws the labels and names of both axes beside the plot. The context's unit is the CSS pixel. */
export function paintLabels(
  context: CanvasRenderingContext2D,
  layout: MapLayout,
  sight: ByAxis<Span>,
  labels: ByAxis<AxisTexts>,
  theme: Theme,
): void {
  context.font = fontOf(theme);
  context.fillStyle = theme.ink;
  context.textBaseline = "middle";
  paintRows(context, layout, sight.rows, labels.rows);
  paintColumns(context, layout, sight.columns, labels.columns);
}

function paintRows(context: CanvasRenderingContext2D, layout: MapLayout, sight: Span, labels: AxisTexts): void {
  context.textAlign = "right";
  for (const { cell, text } of axisLabels(labels, sight, layout.height, 0, true).texts) {
    const y = anchorOf(cell, sight, layout.height);
    if (y !== undefined) context.fillText(text, layout.left - LABEL_GAP, layout.top + y);
  }
}

function paintColumns(context: CanvasRenderingContext2D, layout: MapLayout, sight: Span, labels: AxisTexts): void {
  const { texts, turn } = axisLabels(labels, sight, layout.width, layout.turn, false);
  context.textAlign = turn ? "left" : "center";
  for (const { cell, text } of texts) {
    const x = anchorOf(cell, sight, layout.width);
    if (x === undefined) continue;
    context.save();
    context.translate(layout.left + x, layout.top - LABEL_GAP - LABEL_SIZE / 3);
    context.rotate(turn);
    context.fillText(text, 0, 0);
    context.restore();
  }
}
