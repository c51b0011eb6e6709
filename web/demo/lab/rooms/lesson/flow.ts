import { asMarkup, spoken } from "../../../model/names.js";
import { percent } from "../../../model/links.js";
import { decimal } from "../../shell/numbers.js";
import { nameMarkup } from "../../shell/unknownMark.js";
import { t } from "../../../texts/t.js";
import { asking, namesOf, shownRow, type Lesson } from "./lesson.js";
import { mostOf, strip } from "./strip.js";

/** The columns of the diagram, and the scene in which each of them comes. */
const COLUMNS = [
  { id: "vector", title: t`vector`, scene: 1 },
  { id: "key", title: t`key`, scene: 2 },
  { id: "score", title: t`score`, scene: 2 },
  { id: "weight", title: t`weight`, scene: 3 },
  { id: "value", title: t`value`, scene: 4 },
] as const;

/** The diagram that stays: a row for each word, from its vector to its value, and the mix of all values. */
export function flow(seen: Lesson, scene: number): string {
  const names = namesOf(seen);
  const { unknown } = seen.placed;
  const contents = contentsOf(seen);
  const asker = asMarkup(spoken(names[seen.word]!));
  const later = (id: Column) => (isThere(id, scene) ? "" : ' class="later"');
  const rows = names.map((name, token) => {
    const cells = COLUMNS.map(({ id }) => `<td data-column="${id}"${later(id)}>${isThere(id, scene) ? contents[id](token) : ""}</td>`); // oxfmt-ignore
    return `<tr data-token="${token}"${token === seen.word ? ' class="asks"' : ""}><th scope="row" lang="en" translate="no">${nameMarkup(name, unknown.includes(token))}</th>${cells.join("")}</tr>`;
  });
  const titles = COLUMNS.map(({ id, title }) => `<th scope="col" data-column="${id}"${later(id)}>${title}</th>`);
  const line = (id: "query" | "mixed") => (isThere(id, scene) ? contents[id]() : "");
  const kind = (id: "query" | "mixed") => (isThere(id, scene) ? id : `${id} later`);
  return (
    `<table class="flow" aria-label="${t`From words to the mix of “${asker}”`}"><thead>` +
    `<tr><th scope="col">${t`word`}</th>${titles.join("")}</tr>` +
    `<tr class="${kind("query")}"><th scope="row" colspan="2"><span class="cut">${t`query of “${`<span>${asker}</span>`}”`}</span></th>` +
    `<td>${line("query")}</td><td colspan="3"></td></tr></thead><tbody>${rows.join("")}</tbody>` +
    `<tfoot><tr class="${kind("mixed")}"><th scope="row" colspan="5">${t`mix for “${asker}”: the sum of weight × value`}</th>` +
    `<td>${line("mixed")}</td></tr></tfoot></table>`
  );
}

/**
 * What brings a diagram to another scene, column by column: only those that come or go are changed. The markup is made at once;
 * each of the functions that are returned shows or hides a column.
 */
export function columnChanges(table: Element, seen: Lesson, scene: number): readonly (() => void)[] {
  const contents = contentsOf(seen);
  return COLUMNS.flatMap(({ id }) => {
    const isHere = isThere(id, scene);
    const nodes = [...table.querySelectorAll<HTMLElement>(`[data-column=${id}]`)];
    if (nodes[0]!.classList.contains("later") !== isHere) return [];
    const line = id === "key" ? "query" : id === "value" ? "mixed" : undefined;
    const row = line && table.querySelector(`.${line}`)!;
    const writes = [
      ...nodes.map((cell) => {
        const token = cell.parentElement!.dataset["token"]; // the head of the column has none
        return { node: cell, cell, markup: () => contents[id](Number(token)) };
      }),
      ...(row ? [{ node: row, cell: row.querySelector("td")!, markup: contents[line] }] : []),
    ].map(({ node, cell, markup }) => ({ node, cell, fresh: isHere && !cell.firstChild ? markup() : undefined }));
    return () => {
      for (const { node, cell, fresh } of writes) {
        node.classList.toggle("later", !isHere);
        if (fresh !== undefined) cell.innerHTML = fresh;
      }
    };
  });
}

/** What stands in the cells of each column, and in the rows above and below. */
function contentsOf(seen: Lesson) {
  const { query, keys, scores, weights, values, mix } = asking(seen);
  const vectors = seen.placed.tokens.map((_, token) => shownRow(seen.placed.placed, token));
  const [mostVector, mostKey, mostValue] = [mostOf(vectors), mostOf([query, ...keys]), mostOf([...values, mix])];
  const mostWeight = Math.max(...weights);
  return {
    vector: (token: number) => strip(vectors[token]!, mostVector),
    key: (token: number) => strip(keys[token]!, mostKey),
    score: (token: number) => `<b${scores[token]! < 0 ? ' class="less"' : ""}>${decimal(scores[token]!, 1)}</b>`,
    weight: (token: number) => {
      const part = (weights[token]! / mostWeight).toFixed(3);
      return `<span class="part" style="--w:${part}"></span><b>${percent(weights[token]!)}</b>`;
    },
    value: (token: number) => strip(values[token]!, mostValue),
    query: () => strip(query, mostKey),
    mixed: () => strip(mix, mostValue),
  };
}

type Column = (typeof COLUMNS)[number]["id"];

/** The query comes with the keys, and the mix with the values. */
function isThere(id: Column | "query" | "mixed", scene: number): boolean {
  const column = id === "query" ? "key" : id === "mixed" ? "value" : id;
  return scene >= COLUMNS.find((each) => each.id === column)!.scene;
}
