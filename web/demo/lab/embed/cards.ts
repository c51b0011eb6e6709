/** The cards of a room. Each can be a figure by itself. */
export const CARDS = ".stage .card";

/** What a card is called: its heading and what stands small beside it, or its name for screen readers. */
export function cardName(card: Element): string {
  const heading = card.querySelector("h2");
  const beside = heading?.querySelector("small")?.textContent ?? "";
  const words = heading?.textContent ?? "";
  const first = beside ? words.replace(beside, "").trim() : words;
  return [first, beside].filter(Boolean).join(" · ") || (card.ariaLabel ?? "");
}
