import { asMarkup } from "../../../model/names.js";
import { percent } from "../../../model/links.js";
import { decimal } from "../../shell/numbers.js";
import { asking, namesOf, shownRow, type Lesson } from "./lesson.js";
import { mostOf, strip } from "./strip.js";

/** The columns of the diagram, and the scene in which each of them comes. */
const COLUMNS = [
  { id: "vector", title: "vector", scene: 1 },
  { id: "key", title: "key", scene: 2 },
  { id: "score", title: "score", scene: 2 },
  { id: "weight", title: "weight", scene: 3 },
  { id: "value", title: "value", scene: 4 },
] as const;

/** The diagram that stays: a row for each word, from its vector to its value, and the mix of all values. */
export function flow(lesson: Lesson, scene: number): string {
  const names = namesOf(lesson);
  const { query, keys, scores, weights, values, mix } = asking(lesson);
  const { word, placed } = lesson;
  const vectors = names.map((_, token) => shownRow(placed.placed, token));
  const [mostVector, mostKey, mostValue] = [mostOf(vectors), mostOf([query, ...keys]), mostOf([...values, mix])];
  const mostWeight = Math.max(...weights);
  const asker = asMarkup(names[word]!);
  const cell = (id: Column, content: string) =>
    `<td data-column="${id}"${isThere(id, scene) ? "" : ' class="later"'}>${isThere(id, scene) ? content : ""}</td>`;
  const rows = names.map(
    (name, token) =>
      `<tr data-token="${token}"${token === word ? ' class="asks"' : ""}><th scope="row">${asMarkup(name)}</th>` +
      cell("vector", strip(vectors[token]!, mostVector)) +
      cell("key", strip(keys[token]!, mostKey)) +
      cell("score", `<b${scores[token]! < 0 ? ' class="less"' : ""}>${decimal(scores[token]!, 1)}</b>`) +
      cell(
        "weight",
        `<span class="part" style="--w:${(weights[token]! / mostWeight).toFixed(3)}"></span><b>${percent(weights[token]!)}</b>`,
      ) +
      cell("value", strip(values[token]!, mostValue)) +
      "</tr>",
  );
  const titles = COLUMNS.map(
    ({ id, title }) => `<th scope="col" data-column="${id}"${isThere(id, scene) ? "" : ' class="later"'}>${title}</th>`,
  );
  return (
    `<table class="flow" aria-label="From words to the mix of “${asker}”"><thead>` +
    `<tr><th scope="col">word</th>${titles.join("")}</tr>` +
    `<tr class="query${scene < 2 ? " later" : ""}"><th scope="row" colspan="2">query of “${asker}”</th>` +
    `<td>${scene < 2 ? "" : strip(query, mostKey)}</td><td colspan="3"></td></tr></thead><tbody>${rows.join("")}</tbody>` +
    `<tfoot><tr class="mixed${scene < 4 ? " later" : ""}"><th scope="row" colspan="5">mix for “${asker}”: the sum of weight × value</th>` +
    `<td>${scene < 4 ? "" : strip(mix, mostValue)}</td></tr></tfoot></table>`
  );
}

type Column = (typeof COLUMNS)[number]["id"];

function isThere(id: Column, scene: number): boolean {
  return scene >= COLUMNS.find((column) => column.id === id)!.scene;
}
