import { asMarkup } from "../../../model/names.js";
import { decimal } from "../../shell/numbers.js";
import { t } from "../../../texts/t.js";
import { angles, asking, largest, namesOf, smallest, type Lesson } from "./lesson.js";

const [WIDTH, HEIGHT] = [360, 190];
/** Where all arrows begin, and how long the longest is. */
const [X, Y, LONGEST] = [150, 178, 150];

/**
 * The query, and each key at its true angle to it and in its true length. So the shadow of a key on the query is its
 * score, times one number. The angles between two keys are not true.
 */
export function fan(lesson: Lesson): string {
  const names = namesOf(lesson);
  const { queryLength, keyLengths, scores } = asking(lesson);
  const scale = LONGEST / Math.max(queryLength, ...keyLengths);
  const turned = angles(lesson);
  const labelled = ranked(scores);
  const keys = names.map((name, token) => {
    const tip = tipOf(turned[token]!, keyLengths[token]! * scale);
    const rank = labelled.indexOf(token);
    const kind = `key-arrow${scores[token]! < 0 ? " less" : ""}${rank < 0 ? "" : " named"}`;
    const label = rank < 0 ? "" : labelAt(tip, turned[token]!, `${asMarkup(name)} ${degrees(turned[token]!)}`, rank);
    return `<g class="${kind}" data-token="${token}"><title>${t`${asMarkup(name)}: ${degrees(turned[token]!)}, score ${decimal(scores[token]!, 1)}`}</title>${rank < 0 ? "" : shadow(tip)}${arrow(tip)}${label}</g>`;
  });
  const query = tipOf(0, queryLength * scale);
  return (
    `<svg class="fan" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${t`The query and the keys at their angles`}">` +
    `<line class="ground" x1="4" x2="${WIDTH - 4}" y1="${Y}" y2="${Y}" />${keys.join("")}` +
    `<g class="query-arrow">${arrow(query)}<text x="${Math.min(query[0] + 6, WIDTH - 42)}" y="${Y - 6}">${t`query`}</text></g></svg>`
  );
}

/** The keys that have their name: the two with the highest scores, and the one with the lowest. */
function ranked(scores: Float32Array): number[] {
  const best = largest(scores);
  const second = largest(Array.from(scores, (score, token) => (token === best ? -Infinity : score)));
  return [...new Set([best, second, smallest(scores)])];
}

function tipOf(angle: number, length: number): readonly [number, number] {
  return [X + length * Math.cos(angle), Y - length * Math.sin(angle)];
}

function labelAt([x, y]: readonly [number, number], angle: number, words: string, rank: number): string {
  const away = 8 + 13 * rank;
  const [left, top] = [x + away * Math.cos(angle), Math.max(11, y - away * Math.sin(angle))];
  const anchor = angle > Math.PI / 2 ? "end" : "start";
  return `<text x="${left.toFixed(1)}" y="${top.toFixed(1)}" text-anchor="${anchor}" lang="en" translate="no">${words}</text>`;
}

/** A line from the tip of a key down to the line of the query. */
function shadow([x, y]: readonly [number, number]): string {
  return `<line class="shadow" x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${y.toFixed(1)}" y2="${Y}" />`;
}

/** An arrow from the origin, with its head. */
function arrow([x, y]: readonly [number, number]): string {
  return `<path d="${arrowPath([X, Y], [x, y])}" />`;
}

export function arrowPath([x0, y0]: readonly [number, number], [x, y]: readonly [number, number]): string {
  const angle = Math.atan2(y - y0, x - x0);
  const barb = (turn: number) =>
    `${(x - 7 * Math.cos(angle + turn)).toFixed(1)} ${(y - 7 * Math.sin(angle + turn)).toFixed(1)}`;
  const tip = `${x.toFixed(1)} ${y.toFixed(1)}`;
  return `M${x0.toFixed(1)} ${y0.toFixed(1)}L${tip}M${barb(0.45)}L${tip}L${barb(-0.45)}`;
}

function degrees(angle: number): string {
  return `${Math.round((180 * angle) / Math.PI)}°`;
}
