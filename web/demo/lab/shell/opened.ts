/** The key under which the browser keeps, for this tab, what is open. */
const KEY = "headwise-lab-open";

/** The titles of the cards that are open. A page that is loaded anew has them, too. */
const titles = new Set(kept());

export const isOpened = (title: string): boolean => titles.has(title);

export function noteOpened(title: string, isOpen: boolean): void {
  if (isOpen) titles.add(title);
  else titles.delete(title);
  try {
    sessionStorage.setItem(KEY, JSON.stringify([...titles]));
  } catch {
    // A browser that stores nothing for this page throws. Then what is open is known until the page is closed.
  }
}

function kept(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
    return Array.isArray(stored) ? stored.map(String) : []; // another page of this site may have stored something else
  } catch {
    return [];
  }
}
