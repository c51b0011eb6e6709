// The lesson as HTML: the build writes it into the page, and the room draws it again.

import { headName } from "../../../model/heads.js";
import { modelName } from "../../../model/modelName.js";
import { asMarkup } from "../../../model/names.js";
import { formatAddress } from "../../shell/address.js";
import { t } from "../../../texts/t.js";
import { TITLES } from "../titles.js";
import { flow } from "./flow.js";
import { namesOf, type Lesson } from "./lesson.js";
import { paneOf } from "./panes.js";
import { scenesOf, type Quiz, type Scene } from "./scenes.js";
import { SCENES } from "./settings.js";
import { readWords } from "./words.js";

/** Marks what the encoder reads, in a page of any language. */
const ENGLISH = ' lang="en" translate="no"';

/** The whole stage in its first state. */
export function stage(seen: Lesson, scene: number): string {
  return `${controls(seen)}<div class="lesson">${diagram(seen, scene)}${cards(seen, scene)}</div>`;
}

/** The sentence, and which word and head are followed. */
export function controls(seen: Lesson): string {
  const { placed, head, word } = seen;
  const words = namesOf(seen).map((name, token) => option(token, asMarkup(name), token === word, ENGLISH));
  const heads = Array.from({ length: 8 }, (_, each) =>
    option(each, headName({ layer: Math.floor(each / 4), head: each % 4 }), each === head),
  );
  return (
    `<div class="panel lesson-controls"><label class="own">${t`Your sentence`}` +
    `<input type="text" value="${asMarkup(placed.text)}" maxlength="400" data-field="text" spellcheck="false" autocomplete="off"${ENGLISH}></label>` +
    `<label>${t`Word`} <select data-field="word">${words.join("")}</select></label>` +
    `<label>${t`Head`} <select data-field="head">${heads.join("")}</select></label>` +
    `<p class="hint" role="status">${asMarkup(readWords(placed))}</p></div>`
  );
}

/** The diagram that stays, with the picture of the scene. */
export function diagram(seen: Lesson, scene: number): string {
  return `<section class="card scene-diagram" aria-label="${t`The diagram`}"><div class="scene-bar">${sceneBar(scene)}</div><div class="both"><div class="flow-place">${flow(seen, scene)}</div><div class="pane">${pane(seen, scene)}</div></div></section>`;
}

export function sceneBar(scene: number): string {
  const dots = Array.from(
    { length: SCENES },
    (_, at) => `<button type="button" data-scene="${at + 1}" aria-label="${t`Scene ${at + 1}`}" aria-pressed="${at + 1 === scene}">${at + 1}</button>`, // oxfmt-ignore
  );
  return `<button type="button" data-step="-1" aria-label="${t`Previous scene`}"${scene === 1 ? " disabled" : ""}>←</button>${dots.join("")}${shareMarkup()}<button type="button" class="primary" data-step="1"${scene === SCENES ? " disabled" : ""}>${t`Next →`}</button>`;
}

/** A picture of a scene can be had only where that scene stays, so the button stands here, not below the room. */
function shareMarkup(): string {
  const words = t`Share this figure`;
  return `<button type="button" data-share aria-label="${words}" title="${words}"><span>${words}</span></button>`;
}

function pane(seen: Lesson, scene: number): string {
  const { title, markup, note } = paneOf(seen, scene);
  return `<h2>${title}</h2><div class="picture-of-scene">${markup}</div><p class="hint">${note}</p>`;
}

/** The texts of all scenes. A figure in another page shows that of the current one. */
export function cards(seen: Lesson, current: number): string {
  const all = scenesOf(seen);
  return `<div class="scenes">${all.map((scene, at) => card(scene, at + 1, current)).join("")}</div>`;
}

function card({ title, words, door, quiz }: Scene, number: number, current: number): string {
  const address = formatAddress({ room: door.room, query: new URLSearchParams(door.settings) });
  const [heading, link] = [`${number} · ${title}`, t`Open ${door.words} in the room ${TITLES[door.room]}`].map(
    asMarkup,
  );
  return (
    `<section class="card scene" data-scene="${number}" aria-current="${number === current && "step"}"><h2>${heading}</h2>` +
    words.map((paragraph) => `<p>${asMarkup(paragraph)}</p>`).join("") +
    (number === 1 ? `<p class="hint">${modelName()}</p>` : "") +
    (quiz ? question(quiz) : "") +
    `<p class="door"><a href="${asMarkup(address)}">${link}</a></p>${number === SCENES ? end() : ""}</section>`
  );
}

function question({ question, answers }: Quiz): string {
  const chips = answers.map((answer, at) => `<button type="button" data-answer="${at}" aria-pressed="false">${asMarkup(answer)}</button>`); // oxfmt-ignore
  return `<div class="quiz"><p><b>${asMarkup(question)}</b></p><div class="chips" role="group" aria-label="${t`Your answer`}">${chips.join("")}</div><p class="said" role="status"></p></div>`;
}

function end(): string {
  return `<p class="onward">${t`That is attention. Write a sentence of your own above, or go on with the tour: it asks what you expect, and headwise computes what is true.`}</p>`;
}

function option(value: number, words: string, isChosen: boolean, marks = ""): string {
  return `<option value="${value}"${isChosen ? " selected" : ""}${marks}>${words}</option>`;
}
