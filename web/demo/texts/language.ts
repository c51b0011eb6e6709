/** The languages of the lab, by their code, in their own words. English is what the code itself says. */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = "headwise-language";

/**
 * What the address says, as in "?lang=de"; else what the visitor has chosen; else the first of the browser's languages
 * that the lab speaks; else English. Programs that are not a page speak English.
 */
export const language: Language = addressed() ?? kept() ?? preferred() ?? "en";

/** Speaks another language from now on. All that is set stays, because it stands in the address. */
export function chooseLanguage(chosen: Language): void {
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // a page without storage goes by the browser's language
  }
  const address = new URL(location.href);
  if (address.searchParams.has("lang")) {
    address.searchParams.set("lang", chosen);
    history.replaceState(history.state, "", address);
  }
  location.reload();
}

function addressed(): Language | undefined {
  return isPage() ? known(new URLSearchParams(location.search).get("lang") ?? "") : undefined;
}

function kept(): Language | undefined {
  try {
    return isPage() ? known(localStorage.getItem(KEY) ?? "") : undefined;
  } catch {
    return undefined; // the browser stores nothing for this page
  }
}

function preferred(): Language | undefined {
  const wanted = isPage() ? navigator.languages : [];
  return wanted.map((tag) => known(tag.split("-")[0]!)).find((each) => each !== undefined);
}

/** A worker and Node are none. */
function isPage(): boolean {
  return "document" in globalThis;
}

function known(code: string): Language | undefined {
  return Object.hasOwn(LANGUAGES, code) ? (code as Language) : undefined;
}
