/** The cards of a room. Each can be a figure by itself. */
export const CARDS = ".stage .card";

/** What a card is called: its heading, or its name for screen readers. */
export function cardName(card: Element): string {
  return card.querySelector("h2")?.textContent || (card.ariaLabel ?? "");
}
