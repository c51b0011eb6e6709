/** A room of the lab with its settings, or one card of it, as a figure of another page. */
export interface Figure {
  /** The address of the lab, as in "https://your.host/lab/". */
  readonly lab: string;
  readonly room: string;
  /** As in the address of the lab after "?": "causal=lower-right&left=7". */
  readonly settings: string;
  readonly theme: string;
  /** The number of the card, from 1; empty for the whole room. */
  readonly card: string;
}

/**
 * The address of the lab that an attribute gives.
 *
 * @throws TypeError if it is not the address of a page. The element then shows its content.
 */
export function labAddress(given: string, base: string): string {
  const address = URL.canParse(given, base) ? new URL(given, base) : undefined;
  if (address && /^(https?|file):$/.test(address.protocol)) return address.href;
  throw new TypeError(`<headwise-figure>: lab must be the address of a page, got ${JSON.stringify(given)}`);
}

/** The address of the page that shows only this figure. */
export function figureAddress({ lab, room, settings, theme, card }: Figure): string {
  const address = new URL(lab);
  const options = new URLSearchParams({ ...(card && { card }), ...(theme !== "auto" && { theme }) }).toString();
  address.search = options ? `?embed&${options}` : "?embed";
  address.hash = settings ? `#/${room}?${settings}` : `#/${room}`;
  return address.href;
}
