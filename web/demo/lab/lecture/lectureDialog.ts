import { t } from "../../texts/t.js";
import { button } from "../shell/controls.js";
import { openDialog } from "../shell/dialog.js";
import { element } from "../shell/element.js";
import { counted } from "../shell/numbers.js";
import "../share/share.css";
import "./lecture.css";
import { stopAddress, type Lecture } from "./lecture.js";
import { LECTURES } from "./lectures.js";
import { addToOwn, isLasting, moveUpInOwn, ownLecture, removeFromOwn } from "./ownLecture.js";

/** What is shown now, as a stop of a list of one's own. */
export interface Shown {
  readonly title: string;
  readonly room: string;
  readonly settings: URLSearchParams;
}

/** Opens a dialog with all lectures, and the visitor's own list. */
export function chooseLecture(shown: Shown): void {
  const own = element("div", { class: "own-list" });
  const lasting = element("p", { class: "hint", role: "status" });
  const show = () => {
    own.replaceChildren(...ownList(change));
    lasting.textContent = isLasting()
      ? ""
      : t`This browser does not store your list. It holds until this page is closed.`;
  };
  const add = button(t`Add what is shown now`, () => {
    addToOwn({ title: shown.title, room: shown.room, settings: Object.fromEntries(shown.settings) });
    show();
  });
  /** The button that was pressed is gone: the focus goes to one of the stop that has its place now. */
  const change = (at: number) => {
    show();
    (own.querySelectorAll("li")[at]?.querySelector<HTMLElement>("button:enabled") ?? add).focus();
  };
  /** Another tab has changed the list. */
  const follow = () => {
    const hadFocus = own.contains(document.activeElement);
    show();
    if (hadFocus) add.focus();
  };
  show();
  const dialog: HTMLDialogElement = element(
    "dialog",
    { class: "share lectures", "aria-labelledby": "lectures-heading" },
    element("h2", { id: "lectures-heading" }, t`Teach with this lab`),
    element("p", { class: "hint" }, t`Figures in the order of a lecture, with a question each whose answer is hidden. → shows the answer, then the next figure. “Full screen” has large type; a handout prints.`), // oxfmt-ignore
    ...LECTURES.map(lectureEntry),
    own,
    lasting,
    add,
    button(t`Close`, () => dialog.close()),
  );
  dialog.onclick = ({ target }) => (target as Element).closest("a") && dialog.close();
  openDialog(dialog);
  if (!dialog.open) return; // another one is
  addEventListener("storage", follow);
  dialog.addEventListener("close", () => removeEventListener("storage", follow));
}

function lectureEntry(lecture: Lecture): HTMLElement {
  const { title, minutes, stops } = lecture;
  const length = `${counted(stops.length, "figure")}, ${counted(minutes!, "minute")}`;
  const stop = (name: string, at: number) => element("li", {}, element("a", { href: stopAddress(lecture, at + 1) }, name)); // oxfmt-ignore
  return element(
    "section",
    {},
    element("h3", {}, element("a", { href: stopAddress(lecture, 1) }, title), ` · ${length}`),
    element("details", {}, element("summary", {}, t`All figures`), element("ol", {}, ...stops.map(({ title: name }, at) => stop(name, at)))), // oxfmt-ignore
  );
}

/** The visitor's own list. A change of it is followed by `onChange`, with the stop that it concerns. */
function ownList(onChange: (at: number) => void): HTMLElement[] {
  const lecture = ownLecture();
  const entry = (title: string, at: number) => {
    const up = button("↑", () => (moveUpInOwn(at), onChange(at - 1)));
    const remove = button("×", () => (removeFromOwn(at), onChange(at)));
    up.ariaLabel = t`Move “${title}” up`;
    remove.ariaLabel = t`Remove “${title}”`;
    up.disabled = at === 0;
    return element("li", {}, element("a", { href: stopAddress(lecture, at + 1) }, title), " ", up, remove);
  };
  const heading = element("h3", {}, lecture.title);
  if (lecture.stops.length === 0)
    return [heading, element("p", { class: "hint" }, t`Nothing yet. It is kept in this browser.`)];
  return [heading, element("ol", {}, ...lecture.stops.map(({ title }, at) => entry(title, at)))];
}
