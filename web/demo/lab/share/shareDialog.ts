import { cardName, CARDS } from "../embed/cards.js";
import { Embedding } from "../embed/embedding.js";
import type { ShownFigure } from "../embed/markup.js";
import { button, setIdle } from "../shell/controls.js";
import { openDialog } from "../shell/dialog.js";
import { element } from "../shell/element.js";
import { inWords } from "../shell/failure.js";
import { formatAddress, parseAddress, withCard } from "../shell/address.js";
import { unfold } from "../shell/folds.js";
import { save } from "../shell/save.js";
import { t } from "../../texts/t.js";
import { copy } from "./copy.js";
import { framesOf, gifOf, type Film } from "./film.js";
import { canvasOf, hasPicture, pictureOf, pngOf, svgOf } from "./picture.js";
import "./share.css";
import type { Shared } from "./shared.js";

/** What a whole room and one card have around them in a frame: heading, finding, link. */
const AROUND_STAGE = 170;
const AROUND_CARD = 70;

/** A part of the room that can be shared. */
interface Figure {
  /** Above its picture. */
  readonly title: string;
  readonly node: HTMLElement;
  readonly embedded: Omit<ShownFigure, "height">;
  /** The address of the page, at this part. */
  readonly address: string;
  /** How high its frame is. */
  readonly height: () => number;
}

/**
 * Opens a dialog with the address of what is shown, its picture as a file, a film if the room has one, and its HTML. It shows
 * the card whose button was pressed; without one the first that has a picture, at the address of the whole room.
 */
export function share({ room, stage, settings, film }: Shared, pressed?: Element): void {
  const { id, title } = room;
  const lab = location.origin + new URL("./", location.href).pathname;
  const common = { lab, room: id, settings: settings() };
  const cards = [...document.querySelectorAll<HTMLElement>(CARDS)].map((node, at): Figure => {
    const name = cardName(node);
    const embedded = { ...common, title: name, card: String(at + 1) };
    const height = () => node.offsetHeight + AROUND_CARD;
    return { title: `${title}: ${name}`, node, embedded, address: addressAt(at + 1), height };
  });
  const embedded = { ...common, title, card: "" };
  const address = addressAt(undefined);
  const whole = { title, node: stage, embedded, address, height: () => heightOf(stage) + AROUND_STAGE };
  const figures = [whole, ...cards.filter(({ node }) => node.checkVisibility())];
  new ShareDialog(figures, film(), pressed).open();
}

/** The address of the page, at this card of its room or at the room. */
function addressAt(card: number | undefined): string {
  const { room, query } = parseAddress(location.hash);
  return new URL(formatAddress({ room, query: withCard(query, card) }), location.href).href;
}

/** How high a room is in a figure. The lesson has the text of one scene there. */
function heightOf(stage: HTMLElement): number {
  const parts = [...stage.querySelectorAll<HTMLElement>(".lesson-controls, .scene-diagram, .scene[aria-current=step]")];
  return parts.reduce((sum, part) => sum + part.offsetHeight, 0) || stage.offsetHeight;
}

class ShareDialog {
  readonly #figures: readonly Figure[];
  readonly #status = element("p", { class: "hint", role: "status" });
  readonly #choice: HTMLSelectElement;
  readonly #address: HTMLInputElement;
  readonly #embedding = new Embedding((words) => this.#say(words));
  readonly #dialog: HTMLDialogElement;
  /** What makes a picture of the figure that is chosen. */
  readonly #pictures: readonly HTMLButtonElement[];
  readonly #makers: readonly HTMLButtonElement[];

  /** The first figure is the whole room. */
  constructor(figures: readonly Figure[], film: Film | undefined, pressed: Element | undefined) {
    this.#figures = figures;
    const names = figures.map(({ embedded }, at) => (at === 0 ? t`The whole room` : embedded.title));
    const [whole, ...cards] = names.map((name, at) => element("option", { value: String(at) }, name));
    this.#choice = element("select", {}, whole!, element("hr"), ...cards);
    const isFirst = ({ node }: Figure, at: number) => at > 0 && (pressed ? node === pressed : hasPicture(node));
    this.#choice.selectedIndex = Math.max(figures.findIndex(isFirst), 0);
    this.#choice.onchange = () => {
      this.#address.value = this.#figure.address;
      this.#show();
    };
    this.#pictures = [this.#maker(t`Save as PNG`, () => this.#png()), this.#maker(t`Save as SVG`, () => this.#svg())];
    this.#makers = [
      ...this.#pictures,
      ...(film ? [this.#maker(t`Save ${film.what} as a film (GIF)`, () => this.#film(film))] : []),
    ];
    const { address } = pressed ? this.#figure : figures[0]!;
    this.#address = element("input", { type: "url", readonly: "", value: address });
    this.#dialog = element(
      "dialog",
      { class: "share", "aria-labelledby": "share-heading" },
      element("h2", { id: "share-heading" }, t`Share this figure`),
      element("label", { class: "address" }, t`Its address, with all settings`, this.#address),
      button(t`Copy the address`, () => copy(this.#address, (words) => this.#say(words))),
      element("label", {}, t`What to show `, this.#choice),
      element("div", { class: "row" }, ...this.#makers),
      this.#embedding.node,
      this.#status,
      button(t`Close`, () => this.#dialog.close()),
    );
    this.#show();
  }

  open(): void {
    openDialog(this.#dialog);
  }

  /** Shows the HTML of the figure that was chosen. A folded one is opened, to be drawn. Controls alone make no picture. */
  #show(): void {
    const { node, embedded, height } = this.#figure;
    unfold(node);
    for (const each of this.#pictures) each.hidden = !hasPicture(node);
    this.#embedding.show({ ...embedded, height: height() });
    this.#say("");
  }

  /** While a file is made, no other one is. */
  #maker(label: string, make: () => Promise<void>): HTMLButtonElement {
    return button(label, () => {
      for (const each of this.#makers) setIdle(each, true);
      this.#say(t`Drawing …`);
      make()
        .then(() => this.#say(t`Saved.`))
        .catch((error: unknown) => this.#say(t`It could not be drawn: ${inWords(error)}`))
        .finally(() => {
          for (const each of this.#makers) setIdle(each, false);
        });
    });
  }

  get #figure(): Figure {
    return this.#figures[this.#choice.selectedIndex]!;
  }

  async #png(): Promise<void> {
    const { node, title } = this.#figure;
    await give(`${title}.png`, await pngOf(await pictureOf(node, title, this.#address.value)));
  }

  async #svg(): Promise<void> {
    const { node, title } = this.#figure;
    await give(`${title}.svg`, new Blob([svgOf(await pictureOf(node, title, this.#address.value))]));
  }

  async #film(film: Film): Promise<void> {
    const title = this.#figures[0]!.title;
    const draw = async (caption: string) =>
      canvasOf(await pictureOf(film.node, `${title}: ${caption}`, this.#figures[0]!.address), 1);
    const frames = await framesOf(film, draw, (picture, of) => {
      this.#say(t`Drawing: picture ${picture} of ${of}`);
      return this.#dialog.open; // otherwise the visitor has closed it
    });
    if (frames) await give(`${title}.gif`, await gifOf(frames));
  }

  #say(words: string): void {
    this.#status.textContent = words;
  }
}

/** Gives the visitor a file. Signs that file systems refuse are left out of its name. */
async function give(name: string, content: Blob): Promise<void> {
  save(name.replace(/[\\/:*?"<>|]+/g, ""), new Uint8Array(await content.arrayBuffer()));
}
