import { figureTheme, isFigure } from "../embed/figurePage.js";
import { keep, kept } from "./kept.js";

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const KEY = "headwise-theme";
const SIGNS: Readonly<Record<Theme, string>> = { auto: "◐", light: "☀", dark: "☾" };

/** A button that switches between the themes. The choice is stored on this device. */
export function themeButton(button: HTMLElement): void {
  const wanted = isFigure ? figureTheme : kept(KEY);
  let theme = THEMES.find((name) => name === wanted) ?? "auto";
  const show = () => {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset["theme"] = theme;
    button.textContent = SIGNS[theme];
    button.title = button.ariaLabel = `Theme: ${theme}`;
  };
  button.onclick = () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
    keep(KEY, theme);
    show();
  };
  show();
}
