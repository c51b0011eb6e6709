import { pictureOf, svgOf } from "../share/picture.js";
import { t } from "../../texts/t.js";
import { button } from "../shell/controls.js";
import { element } from "../shell/element.js";
import { drawnFigure } from "./drawn.js";
import { stopAddress, type Lecture, type Stop } from "./lecture.js";
import type { Place } from "./lectures.js";

/** What paper shows of a stop. */
interface Sheet {
  readonly stop: Stop;
  /** The figure as a file; undefined if it could not be drawn. */
  readonly picture: string | undefined;
}

/** Visits all stops, draws their figures, and shows them as sheets to print. The page behind them is again where it was. */
export async function showHandout({ lecture, number }: Place, onFigure: (number: number) => void): Promise<void> {
  const sheets = await onPaper(() => drawAll(lecture, onFigure));
  const { room, figure } = lecture.stops[number - 1]!;
  location.replace(stopAddress(lecture, number));
  await drawnFigure(room, figure);
  const sheetsToPrint = page(lecture, sheets);
  document.body.append(sheetsToPrint);
  scrollTo({ top: 0, behavior: "instant" });
  sheetsToPrint.focus({ preventScroll: true });
}

async function drawAll(lecture: Lecture, onFigure: (number: number) => void): Promise<Sheet[]> {
  const sheets: Sheet[] = [];
  for (const [at, stop] of lecture.stops.entries()) {
    location.replace(stopAddress(lecture, at + 1));
    const figure = await drawnFigure(stop.room, stop.figure);
    onFigure(at + 1);
    sheets.push({ stop, picture: figure && (await fileOf(figure, stop.title)) });
  }
  return sheets;
}

async function fileOf(figure: HTMLElement, title: string): Promise<string> {
  const [address = ""] = location.href.split(/[?&]lecture=/);
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgOf(await pictureOf(figure, title, address)))}`;
}

/** Paper is light. */
async function onPaper<T>(draw: () => Promise<T>): Promise<T> {
  const { dataset } = document.documentElement;
  const theme = dataset["theme"];
  dataset["theme"] = "light";
  try {
    return await draw();
  } finally {
    if (theme === undefined) delete dataset["theme"];
    else dataset["theme"] = theme;
  }
}

function page(lecture: Lecture, sheets: readonly Sheet[]): HTMLElement {
  const root = document.documentElement;
  const withAnswers = element("input", { type: "checkbox" });
  const answers = answersOf(lecture);
  const show = () => (answers.hidden = !withAnswers.checked);
  withAnswers.onchange = show;
  show();
  const node = element(
    "main",
    { id: "handout", tabindex: "-1", "aria-label": t`Handout` },
    element(
      "div",
      { class: "row" },
      button(t`Print`, () => print(), "primary"),
      element("label", { class: "control toggle" }, withAnswers, t`With the answers, on the last page`),
      button(t`Close`, () => close()),
    ),
    element("h1", {}, lecture.title),
    ...sheets.map(sheet),
    answers,
  );
  const height = scrollY;
  root.toggleAttribute("data-handout", true);
  const close = () => {
    const hadFocus = node.contains(document.activeElement);
    node.remove();
    root.removeAttribute("data-handout");
    scrollTo({ top: height, behavior: "instant" });
    if (hadFocus) document.querySelector<HTMLElement>("#lecture h2")?.focus({ preventScroll: true });
    removeEventListener("popstate", close);
  };
  addEventListener("popstate", close); // the visitor goes back
  return node;
}

function sheet({ stop, picture }: Sheet, at: number): HTMLElement {
  const { title, words, quiz } = stop;
  return element(
    "article",
    {},
    element("h2", {}, `${at + 1} · ${title}`),
    ...(words ? [element("p", {}, words)] : []),
    picture ? element("img", { src: picture, alt: title }) : element("p", {}, t`This figure could not be drawn.`),
    ...(quiz ? [element("p", {}, element("b", {}, quiz.question)), element("div", { class: "to-write" })] : []),
  );
}

function answersOf({ stops }: Lecture): HTMLElement {
  const answers = stops.flatMap(({ quiz }, at) =>
    quiz ? [element("li", { value: String(at + 1) }, quiz.answer)] : [],
  );
  return element("section", { class: "answers" }, element("h2", {}, t`Answers`), element("ol", {}, ...answers));
}
