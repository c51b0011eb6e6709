/** The languages of the lab, by their code, in their own words. English is what the code itself says. */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;

const KEPT = "language";

/** What the visitor chose; else the first of the browser's languages that the lab speaks; else English. */
export const language: Language = kept() ?? preferred() ?? "en";

/** Speaks another language from now on. All that is set stays, because it stands in the address. */
export function chooseLanguage(chosen: Language): void {
  try {
    localStorage.setItem(KEPT, chosen);
  } catch {
    // a page without storage goes by the browser's language
  }
  location.reload();
}

function kept(): Language | undefined {
  try {
    return known(localStorage.getItem(KEPT) ?? "");
  } catch {
    return undefined; // no storage, or not a page
  }
}

function preferred(): Language | undefined {
  const wanted = "document" in globalThis ? navigator.languages : [];
  return wanted.map((tag) => known(tag.split("-")[0]!)).find((each) => each !== undefined);
}

function known(code: string): Language | undefined {
  return Object.hasOwn(LANGUAGES, code) ? (code as Language) : undefined;
}
