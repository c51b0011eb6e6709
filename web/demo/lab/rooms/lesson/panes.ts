// The picture beside the diagram: one for each scene.

import { SHOWN } from "../../../model/anatomy.js";
import { asMarkup, spoken } from "../../../model/names.js";
import { percent } from "../../../model/links.js";
import { decimal } from "../../shell/numbers.js";
import { nameMarkup } from "../../shell/unknownMark.js";
import { t } from "../../../texts/t.js";
import { fan } from "./fan.js";
import { journey } from "./journey.js";
import * as lesson from "./lesson.js";
import type { Lesson } from "./lesson.js";
import { mostOf, numberCells, weightCells } from "./strip.js";
import { PERCENT } from "../../../texts/percent.js";

/** How many numbers of a vector are printed. */
const PRINTED = 5;
/** How many parts of the mix have a row of their own. */
const PARTS = 3;

export interface Pane {
  readonly title: string;
  readonly markup: string;
  /** What a reader must know to trust the picture. */
  readonly note: string;
}

export function paneOf(seen: Lesson, scene: number): Pane {
  return PANES[scene - 1]!(seen);
}

const PANES: readonly ((seen: Lesson) => Pane)[] = [vectorPane, fanPane, softmaxPane, mixPane, journeyPane, headsPane, placesPane]; // oxfmt-ignore

function vectorPane({ placed, word }: Lesson): Pane {
  const name = asMarkup(spoken(lesson.namesOf({ placed })[word]!));
  const begin = (data: Float32Array) => lesson.shownRow(data, word).subarray(0, PRINTED);
  const [alone, whole] = [begin(placed.words), begin(placed.placed)];
  const place = whole.map((number, i) => number - alone[i]!);
  const most = mostOf([alone, place, whole]);
  return {
    title: t`The vector of “${name}”`,
    markup: numbersTable(t`Word and place`, [
      [t`the word`, numberCells(alone, most, 2)],
      [t`+ its place`, numberCells(place, most, 2)],
      [t`= vector`, numberCells(whole, most, 2), "sum"],
    ]),
    note: t`The first ${PRINTED} of its 256 numbers. The diagram shows the first ${SHOWN} as colours: <span class="more">above 0</span>, <span class="less">below 0</span>.`,
  };
}

function fanPane(seen: Lesson): Pane {
  return {
    title: t`The query and the keys`,
    markup: fan(seen),
    note: t`Each key has its true length and its true angle to the query. The more it points the same way, the higher its score.`,
  };
}

function softmaxPane(seen: Lesson): Pane {
  const { scores, weights } = lesson.asking(seen);
  const best = Math.max(...scores);
  const { unknown } = seen.placed;
  const bars = lesson.namesOf(seen).map((name, token) => {
    const power = Math.exp(scores[token]! - best);
    return (
      `<li data-token="${token}"><span class="bar-place"><span class="rise" style="--h:${power.toFixed(4)}"></span></span>` +
      `<b>${Math.round(100 * weights[token]!)}</b><span class="name" lang="en" translate="no">${nameMarkup(name, unknown.includes(token))}</span></li>`
    );
  });
  return {
    title: t`Softmax: scores become parts of 100`,
    markup: `<ol class="softmax" aria-label="${t`Weights in percent`}">${bars.join("")}</ol>`,
    note: t`Each bar is e to the power of its score, in parts of all bars together. A score that is 1 higher makes a bar ${decimal(Math.E, 1)} times as high.`,
  };
}

function mixPane(seen: Lesson): Pane {
  const { weights, values, mix } = lesson.asking(seen);
  const names = lesson.namesOf(seen);
  const order = names.map((_, token) => token).sort((a, b) => weights[b]! - weights[a]!);
  const part = (token: number) => values[token]!.subarray(0, PRINTED).map((number) => weights[token]! * number);
  const shown = order.slice(0, PARTS);
  const rest = order.slice(PARTS).map(part);
  const others = rest.reduce((sum, each) => sum.map((number, i) => number + each[i]!), new Float32Array(PRINTED));
  const total = mix.subarray(0, PRINTED);
  const most = mostOf([...shown.map(part), others, total]);
  const rows = shown.map((token): Row => [
    cut(t`${percent(weights[token]!)} of “${`<span>${asMarkup(spoken(names[token]!))}</span>`}”`),
    numberCells(part(token), most, 2),
  ]);
  return {
    title: t`Values mix`,
    markup: numbersTable(t`The mix`, [
      ...rows,
      ...(rest.length > 0 ? [[t`+ ${rest.length} more`, numberCells(others, most, 2)] as Row] : []),
      [t`= mix`, numberCells(total, most, 2), "sum"],
    ]),
    note: t`The first ${PRINTED} numbers of weight × value, and their sum.`,
  };
}

function journeyPane(seen: Lesson): Pane {
  const { markup, share } = journey(seen);
  const { before, after } = lesson.movesOf(seen.placed, seen.head, lesson.pairOf(seen));
  return {
    title: t`Apart: ${decimal(before, 1)} before, ${decimal(after, 1)} after`,
    markup,
    note: t`Rings: before attention. Dots: after it. The first layer makes 512 numbers of the 256. This plane holds ${percent(share)} of their spread.`,
  };
}

function headsPane(seen: Lesson): Pane {
  const { word, placed, head } = seen;
  const shares = lesson.sharesOf(seen, word);
  const name = asMarkup(spoken(lesson.namesOf(seen)[word]!));
  const rest = 1 - shares.reduce((sum, share) => sum + share, 0);
  const rows = lesson
    .rowsOfHeads(seen, placed, word)
    .map((row, each): Row => [t`head ${each + 1}`, weightCells(row) + shareCell(shares[each]!), each === head % shares.length ? "chosen" : ""]); // oxfmt-ignore
  return {
    title: t`Where “${name}” looks, in percent`,
    markup: weightsTable(seen, t`The heads of layer ${Math.floor(head / shares.length) + 1}`, rows, t`its part`),
    note: t`Its part: how much of the move of “${name}” a head makes. The bias of the layer makes ${signedPercent(rest)}; together 100 %.`,
  };
}

function placesPane(seen: Lesson): Pane {
  const names = lesson.namesOf(seen);
  const pair = lesson.pairOf(seen);
  const apart = ({ placed, unplaced }: Lesson) => [placed, unplaced].map((each) => lesson.movesOf(each, seen.head, pair).after); // oxfmt-ignore
  const [on, off] = apart(seen).map((distance) => decimal(distance, 1));
  const rows = (["placed", "unplaced"] as const).flatMap((kind) =>
    pair.map((token): Row => {
      const name = `<span>${asMarkup(names[token]!)}</span> · ${kind === "placed" ? t`on` : t`off`}`;
      return [cut(name), weightCells(lesson.weightsOf(seen, seen[kind], token)), kind];
    }),
  );
  const [a, b] = pair.map((token) => t`“${asMarkup(spoken(names[token]!))}”`) as [string, string];
  const look = t`Where ${a} and ${b} look, in percent`;
  return {
    title: t`Apart: ${on!} with positions, ${off!} without`,
    markup: weightsTable(seen, look, rows),
    note: t`${look}, with positions on and off. Apart: the distance of their vectors after attention.`,
  };
}

/** A heading that has one part to be cut where there is no room: that in a span. What stands around it stays. */
function cut(markup: string): string {
  return `<span class="cut">${markup}</span>`;
}

type Row = readonly [name: string, cells: string, kind?: string];

function numbersTable(label: string, rows: readonly Row[]): string {
  return `<table class="amounts" aria-label="${label}"><tbody>${rows.map(rowOf).join("")}</tbody></table>`;
}

function weightsTable(seen: Lesson, label: string, rows: readonly Row[], last?: string): string {
  const { unknown } = seen.placed;
  const names = lesson
    .namesOf(seen)
    .map((name, token) => `<th scope="col" lang="en" translate="no"><span>${nameMarkup(name, unknown.includes(token))}</span></th>`); // oxfmt-ignore
  const end = last ? `<th scope="col" class="last">${last}</th>` : "";
  return `<table class="looks" aria-label="${label}"><thead><tr><td></td>${names.join("")}${end}</tr></thead><tbody>${rows.map(rowOf).join("")}</tbody></table>`;
}

function rowOf([name, cells, kind = ""]: Row): string {
  return `<tr${kind && ` class="${kind}"`}><th scope="row">${name}</th>${cells}</tr>`;
}

function shareCell(share: number): string {
  return `<td class="share">${signedPercent(share)}</td>`;
}

function signedPercent(share: number): string {
  return `${decimal(100 * share, 0)}${PERCENT}`;
}
