import { lessonOf } from "../lab/rooms/lesson/lesson.js";
import { fields } from "../lab/rooms/lesson/settings.js";
import { stage } from "../lab/rooms/lesson/stage.js";
import { question } from "../lab/rooms/lesson/words.js";
import { DOORS, NAVIGATION, type Door } from "../lab/rooms/rooms.js";
import { State } from "../lab/shell/state.js";
import type { Anatomy } from "../model/anatomy.js";
import { asMarkup } from "../model/names.js";

/** The parts of the page that are there before any script runs. */
export interface FirstScreen {
  /** The links to the rooms. */
  readonly rooms: string;
  /** The room that opens first, with its picture. It has the elements that the shell makes for a room. */
  readonly room: string;
}

/** The first room as it opens, with the encoder's numbers: its sentence with positions, and without. */
export function firstScreen([placed, unplaced]: readonly [Anatomy, Anatomy]): FirstScreen {
  const settings = new State(fields).values;
  const door = DOORS[0]!;
  const link = ({ id, title }: Door, index: number) =>
    `<li><a href="#/${id}" data-door="${id}"${index === 0 ? ' aria-current="page"' : ""}>${asMarkup(title)}</a></li>`;
  return {
    rooms: NAVIGATION.map(link).join(""),
    room: [
      `<article class="room" data-room="${door.id}"><header>`,
      `<h1>${asMarkup(question(placed))}</h1>`,
      `<p class="lede">${asMarkup(door.lede)} <span data-keys>${asMarkup(door.keys ?? "")}</span></p></header>`,
      `<div class="stage">${stage(lessonOf(placed, unplaced, settings), settings.scene)}</div></article>`,
    ].join(""),
  };
}
