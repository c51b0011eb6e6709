// The HTML that puts a figure into another page.

import { figureAddress } from "../../embed/figureAddress.js";

export interface ShownFigure {
  readonly lab: string;
  readonly room: string;
  readonly settings: string;
  /** The title of the room or the card. */
  readonly title: string;
  /** The number of the card, from 1; empty for the whole room. */
  readonly card: string;
  /** In CSS pixels; a frame cannot follow its content without a script. */
  readonly height: number;
}

const SIGNS: Readonly<Record<string, string>> = { "&": "&amp;", '"': "&quot;", "<": "&lt;", ">": "&gt;" };
const escaped = (text: string) => text.replace(/[&"<>]/g, (sign) => SIGNS[sign]!);

/** The element: its height follows its content. Where it cannot be shown, a link stands in its place. */
export function elementMarkup({ lab, room, settings, title, card }: ShownFigure): string {
  const wanted = (card ? ` card="${card}"` : "") + (settings ? ` settings="${escaped(settings)}"` : "");
  const inLab = [settings, card && `card=${card}`].filter(Boolean).join("&");
  const page = figureAddress({ lab, room, settings: inLab, theme: "auto", card: "" }).replace("?embed#", "#");
  return `<script type="module" src="${escaped(new URL("embed.js", lab).href)}"></script>
<headwise-figure room="${room}"${wanted} label="${escaped(title)}">
  <a href="${escaped(page)}">${escaped(title)}, in the headwise lab</a>
</headwise-figure>`;
}

/** The frame: it needs no script in the page around it. */
export function frameMarkup({ lab, room, settings, title, card, height }: ShownFigure): string {
  const address = figureAddress({ lab, room, settings, theme: "auto", card });
  return `<iframe src="${escaped(address)}" title="${escaped(title)}" width="100%" height="${height}" style="border: 0" loading="lazy"></iframe>`;
}
