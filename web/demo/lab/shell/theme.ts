import { figureTheme, isFigure } from "../embed/figurePage.js";
import { t } from "../../texts/t.js";

const THEMES = ["auto", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];
const KEY = "headwise-theme";
const SIGNS: Readonly<Record<Theme, string>> = { auto: "◐", light: "☀", dark: "☾" };

const NAMES: Readonly<Record<Theme, string>> = { auto: t`auto`, light: t`light`, dark: t`dark` };

/** A button that switches between the themes. The choice is stored on this device. */
export function themeButton(button: HTMLElement): void {
  const wanted = isFigure ? figureTheme : stored();
  let theme = THEMES.find((name) => name === wanted) ?? "auto";
  const show = () => {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset["theme"] = theme;
    button.textContent = SIGNS[theme];
    button.title = button.ariaLabel = t`Theme: ${NAMES[theme]}`;
  };
  button.onclick = () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
    store(theme);
    show();
  };
  show();
}

// A browser that stores nothing for this page throws. Then the choice holds until the page is closed.
function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function store(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice holds for this page only.
  }
}
