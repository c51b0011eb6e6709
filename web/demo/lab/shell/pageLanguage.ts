import { chooseLanguage, LANGUAGES, language, type Language } from "../../texts/language.js";
import { t } from "../../texts/t.js";
import { byId, element } from "./element.js";

/** Says in the language of the page what index.html says in English, and lets the visitor choose another one. */
export function speak(): void {
  offer(byId("language"));
  if (language === "en") return;
  document.documentElement.lang = language;
  // The picture that the page comes with stays until its room is drawn.
  for (const picture of byId("main").children) picture.setAttribute("lang", "en");
  byId("skip").textContent = t`Skip to the room`;
  byId("take-tour").textContent = t`Take the tour`;
  byId("take-tour").parentElement!.ariaLabel = t`Rooms`;
  byId("engine").querySelector("summary")!.textContent = t`starting`;
  byId("busy-what").textContent = t`Computing`;
  byId("tour").ariaLabel = t`Tour`;
  const about = document.querySelector<HTMLMetaElement>("meta[name=description]")!;
  about.content = t`See, question and teach attention. Everything is computed here, by headwise.`;
}

/** A list of all languages, each in its own words, behind the code of the one that is spoken. */
function offer(label: HTMLElement): void {
  const [code, list] = [label.querySelector("span")!, label.querySelector("select")!];
  const option = ([value, name]: readonly [string, string]) => element("option", { value, lang: value }, name);
  list.replaceChildren(...Object.entries(LANGUAGES).map(option));
  list.value = language;
  list.onchange = () => chooseLanguage(list.value as Language);
  code.textContent = language.toUpperCase();
  label.title = list.ariaLabel = t`Language`;
}
