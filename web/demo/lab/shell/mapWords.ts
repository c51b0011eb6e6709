import { setTexts } from "headwise/viz";

import { language } from "../../texts/language.js";
import { t } from "../../texts/t.js";
import { MAP_HINT } from "./mapHint.js";

let isSaid = language === "en";

/** Has the maps of headwise/viz speak the language of the page. */
export function translateMaps(): void {
  if (isSaid) return;
  isSaid = true;
  setTexts({
    decimalSign: t`.`,
    nearlyNothing: t`less than 0.0001 %`,
    notANumber: t`not a number`,
    attention: t`Attention`,
    head: (head) => t`head ${head}`,
    token: (token) => t`“${token}”`,
    emptyToken: t`empty token`,
    query: (position) => t`query ${position}`,
    key: (position) => t`key ${position}`,
    empty: t`Nothing to show yet.`,
    hint: MAP_HINT,
    cellHidden: (query, key) => t`${query} may not attend to ${key}.`,
    cellPending: (query, key) => t`${query} and ${key}: being computed.`,
    cellNotANumber: (query, key) => t`${query} and ${key}: not a number.`,
    cellScore: (query, key, score) => t`${query} scores ${key} with ${score}.`,
    cellWeight: (query, key, share) => t`${query} gives ${share} of its attention to ${key}.`,
    hidden: t`hidden`,
    pending: t`being computed`,
    axes: t`rows: queries, columns: keys`,
    rowMaximum: t`row maximum`,
    unit: (unit) => t`numbers: ${unit}`,
    computed: (done, total) => t`computed ${done} of ${total} slices`,
    toolbar: t`Map`,
    zoomOut: t`Zoom out`,
    zoomIn: t`Zoom in`,
    fit: t`Fit`,
    fitAll: t`Fit all of it`,
    saveSVG: t`Save the view as SVG`,
    savePNG: t`Save the view as PNG`,
    saveCSV: t`Save the numbers in view as CSV`,
    grid: (label, head) => t`${label}: ${head}, queries by keys`,
    headChoice: t`Head`,
    headSwitches: t`Heads`,
    queries: t`Queries`,
    keys: t`Keys`,
    headSwitch: t`Switch on or off; with Shift or a double click, this one alone, and again all`,
    threshold: t`Hide links below`,
    noLink: t`No link is stronger than the threshold.`,
    links: (from, to, links) =>
      from
        ? t`Strongest links of ${from}: ${links}.`
        : to
          ? t`Strongest links to ${to}: ${links}.`
          : t`Strongest links: ${links}.`,
    link: (from, to, share, head) =>
      from && to
        ? t`from ${from} to ${to} ${share} (${head})`
        : from
          ? t`from ${from} ${share} (${head})`
          : t`to ${to} ${share} (${head})`,
    svgCells: t`Each square is one cell.`,
    svgBlocks: (queries, keys) => t`Each rectangle is the strongest of ${queries} × ${keys} cells (queries × keys).`,
  });
}
