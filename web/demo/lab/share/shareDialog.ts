import { cardName, CARDS } from "../embed/cards.js";
import { button } from "../shell/controls.js";
import { element } from "../shell/element.js";
import { inWords } from "../shell/failure.js";
import { save } from "../shell/save.js";
import { t } from "../../texts/t.js";
import { chosenPictures, gifOf, type Film } from "./film.js";
import { canvasOf, pictureOf, pngOf, svgOf } from "./picture.js";
import "./share.css";

/** A part of the room that can be shared. */
interface Figure {
  readonly title: string;
  readonly node: HTMLElement;
}

/** Opens a dialog with the address of what is shown, its picture as a file, and a film if the room has one. */
export function share(title: string, stage: HTMLElement, film: Film | undefined): void {
  const cards = [...stage.querySelectorAll<HTMLElement>(CARDS)].filter((card) => card.checkVisibility());
  const figures = cards.map((node) => ({ title: `${title}: ${cardName(node)}`, node }));
  new ShareDialog([{ title, node: stage }, ...figures], film).open();
}

class ShareDialog {
  readonly #figures: readonly Figure[];
  readonly #status = element("p", { class: "hint", role: "status" });
  readonly #choice: HTMLSelectElement;
  readonly #dialog: HTMLDialogElement;
  readonly #makers: HTMLButtonElement[];

  /** The first figure is the whole room. */
  constructor(figures: readonly Figure[], film: Film | undefined) {
    this.#figures = figures;
    const names = figures.map(({ title }, at) => (at === 0 ? t`The whole room` : title));
    this.#choice = element("select", {}, ...names.map((name, at) => element("option", { value: String(at) }, name)));
    this.#choice.selectedIndex = Math.min(1, figures.length - 1);
    this.#makers = [
      this.#maker(t`Save as PNG`, () => this.#png()),
      this.#maker(t`Save as SVG`, () => this.#svg()),
      ...(film ? [this.#maker(t`Save ${film.what} as a film (GIF)`, () => this.#film(film))] : []),
    ];
    const address = element("input", { type: "text", readonly: "", value: location.href });
    this.#dialog = element(
      "dialog",
      { class: "embed share", "aria-labelledby": "share-heading" },
      element("h2", { id: "share-heading" }, t`Share this figure`),
      element("label", { class: "address" }, t`Its address, with all settings`, address),
      button(t`Copy the address`, () => this.#copy(address)),
      element("label", {}, t`What to draw`, " ", this.#choice),
      element("div", { class: "row" }, ...this.#makers),
      this.#status,
      button(t`Close`, () => this.#dialog.close()),
    );
    this.#dialog.onclose = () => this.#dialog.remove();
  }

  open(): void {
    document.body.append(this.#dialog);
    this.#dialog.showModal();
  }

  #copy(address: HTMLInputElement): void {
    address.select();
    navigator.clipboard.writeText(address.value).then(
      () => this.#say(t`Copied.`),
      () => this.#say(t`This browser does not let the page copy. The address is selected: copy it with the keyboard.`),
    );
  }

  /** While a file is made, no other one is. */
  #maker(label: string, make: () => Promise<void>): HTMLButtonElement {
    return button(label, () => {
      for (const each of this.#makers) each.disabled = true;
      this.#say(t`Drawing …`);
      make()
        .then(() => this.#say(t`Saved.`))
        .catch((error: unknown) => this.#say(t`It could not be drawn: ${inWords(error)}`))
        .finally(() => {
          for (const each of this.#makers) each.disabled = false;
        });
    });
  }

  get #figure(): Figure {
    return this.#figures[this.#choice.selectedIndex]!;
  }

  async #png(): Promise<void> {
    const { node, title } = this.#figure;
    await give(`${title}.png`, await pngOf(await pictureOf(node, title, location.href)));
  }

  async #svg(): Promise<void> {
    const { node, title } = this.#figure;
    await give(`${title}.svg`, new Blob([svgOf(await pictureOf(node, title, location.href))]));
  }

  async #film(film: Film): Promise<void> {
    const title = this.#figures[0]!.title;
    const pictures = chosenPictures(film.captions.length);
    const drawn: HTMLCanvasElement[] = [];
    try {
      for (const picture of pictures) {
        if (!this.#dialog.open) return; // the visitor has closed it
        await film.show(picture);
        const caption = `${title}: ${film.captions[picture]!}`;
        drawn.push(await canvasOf(await pictureOf(film.node, caption, location.href), 1));
        this.#say(t`Drawing: picture ${drawn.length} of ${pictures.length}`);
      }
    } finally {
      film.end();
    }
    await give(`${title}.gif`, await gifOf(drawn, film.milliseconds));
  }

  #say(words: string): void {
    this.#status.textContent = words;
  }
}

/** Gives the visitor a file. Signs that file systems refuse are left out of its name. */
async function give(name: string, content: Blob): Promise<void> {
  save(name.replace(/[\\/:*?"<>|]+/g, ""), new Uint8Array(await content.arrayBuffer()));
}
