import { DOORS } from "../lab/rooms/rooms.js";
import { compute } from "../lab/rooms/sentence/compute.js";
import { picture } from "../lab/rooms/sentence/picture.js";
import { fields } from "../lab/rooms/sentence/settings.js";
import { finding, question } from "../lab/rooms/sentence/words.js";
import { State } from "../lab/shell/state.js";
import type { Encoder } from "../model/encoder.js";
import { asMarkup } from "../model/names.js";

/** The parts of the page that are there before any script runs. */
export interface FirstScreen {
  /** The links to the rooms. */
  readonly rooms: string;
  /** The room that opens first, with its picture. It has the elements that the shell makes for a room. */
  readonly room: string;
}

/** The first room as it opens, with the encoder's numbers. */
export async function firstScreen(encoder: Encoder): Promise<FirstScreen> {
  const read = (texts: readonly string[], options: Parameters<Encoder["encode"]>[1]) =>
    Promise.all(texts.map((text) => encoder.encode(text, options)));
  const seen = await compute(new State(fields).values, read, () => undefined);
  const door = DOORS[0]!;
  const link = ({ id, title }: (typeof DOORS)[number], index: number) =>
    `<li><a href="#/${id}" data-door="${id}"${index === 0 ? ' aria-current="page"' : ""}>${asMarkup(title)}</a></li>`;
  return {
    rooms: DOORS.map(link).join(""),
    room: [
      `<article class="room" data-room="${door.id}"><header>`,
      `<h1>${asMarkup(question(seen))}</h1>`,
      `<p class="lede">${asMarkup(door.lede)}</p>`,
      `<p class="main-finding">${asMarkup(finding(seen))}</p></header>`,
      `<div class="stage"><section class="card picture" aria-label="The picture">${picture(seen)}</section></div></article>`,
    ].join(""),
  };
}
