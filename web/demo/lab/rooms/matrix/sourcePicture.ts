import { element, svg } from "../../shell/element.js";
import { at, type Matrix } from "../../shell/matrix.js";
import { t } from "../../../texts/t.js";
import { CHANNELS, PATCH, PATCHES_IN_ROW, type Source } from "./source.js";

const [PIXEL, GAP, STEP, HEIGHT] = [26, 8, 64, 130];

/** X as what it was before it was a table: curves over time, or an image in patches. Words have no picture. */
export function sourcePicture(source: Source, x: Matrix, names: readonly string[]): readonly Element[] {
  if (source === "series") return [legend(x), seriesPicture(x, names)];
  return source === "image" ? [imagePicture(x, names)] : [];
}

function legend({ columns }: Matrix): HTMLElement {
  const shown = CHANNELS.slice(0, columns);
  const entries = shown.map((name, n) => element("span", {}, element("i", { class: `channel-key channel${n + 1}` }), name)); // oxfmt-ignore
  return element("div", { class: "legend" }, ...entries);
}

function seriesPicture(x: Matrix, names: readonly string[]): Element {
  const channels = Math.min(CHANNELS.length, x.columns);
  const shown = Array.from({ length: x.rows * channels }, (_, n) => at(x, Math.floor(n / channels), n % channels));
  const largest = Math.max(1, ...shown.map(Math.abs));
  const place = (moment: number) => STEP * (moment + 0.5);
  const level = (value: number) => 10 + (1 - value / largest) * ((HEIGHT - 40) / 2);
  const label = t`Curves of ${CHANNELS.slice(0, channels).join(", ")} over ${x.rows} days`;
  const curve = (channel: number) =>
    Array.from({ length: x.rows }, (_, moment) => `${place(moment)},${level(at(x, moment, channel)).toFixed(1)}`);
  return svg(
    "svg",
    { viewBox: `0 0 ${STEP * x.rows} ${HEIGHT}`, class: "source-picture series", role: "img", "aria-label": label }, // oxfmt-ignore
    svg("path", { class: "axis", d: `M0 ${level(0)}H${STEP * x.rows}` }),
    ...Array.from({ length: channels }, (_, channel) => svg("polyline", { class: `channel${channel + 1}`, points: curve(channel).join(" ") })), // oxfmt-ignore
    ...Array.from({ length: x.rows }, (_, moment) => svg("text", { x: place(moment), y: HEIGHT - 6, "text-anchor": "middle" }, names[moment]!)), // oxfmt-ignore
  );
}

/** Each patch stands where it was in the image, with its letter below. Pixels that X does not have are left out. */
function imagePicture(x: Matrix, names: readonly string[]): Element {
  const side = PATCH * PIXEL;
  const label = 20;
  const rows = Math.ceil(x.rows / PATCHES_IN_ROW);
  const patches = Array.from({ length: x.rows }, (_, patch) => {
    const left = (patch % PATCHES_IN_ROW) * (side + GAP);
    const top = Math.floor(patch / PATCHES_IN_ROW) * (side + label);
    const pixels = Array.from({ length: Math.min(PATCH * PATCH, x.columns) }, (__, pixel) => {
      const bright = Math.min(1, Math.max(0, at(x, patch, pixel)));
      const [column, row] = [pixel % PATCH, Math.floor(pixel / PATCH)];
      return svg("rect", { x: left + column * PIXEL, y: top + row * PIXEL, width: PIXEL, height: PIXEL, style: `fill: rgb(${[bright, bright, bright].map((part) => Math.round(255 * part)).join(" ")})` }); // oxfmt-ignore
    });
    const name = svg("text", { x: left + side / 2, y: top + side + 14, "text-anchor": "middle" }, names[patch]!);
    return [...pixels, svg("rect", { class: "frame", x: left, y: top, width: side, height: side }), name];
  });
  const size = `-2 -2 ${PATCHES_IN_ROW * (side + GAP) - GAP + 4} ${rows * (side + label) + 4}`;
  const name = t`An image in ${x.rows} patches of ${PATCH} × ${PATCH} pixels`;
  return svg(
    "svg",
    { viewBox: size, class: "source-picture image", role: "img", "aria-label": name },
    ...patches.flat(),
  );
}
