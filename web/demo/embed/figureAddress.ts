/** A room of the lab with its settings, as a figure of another page. */
export interface Figure {
  /** The address of the lab, as in "https://your.host/lab/". */
  readonly lab: string;
  readonly room: string;
  /** As in the address of the lab after "?": "causal=lower-right&left=7". */
  readonly settings: string;
  readonly theme: string;
}

/** The address of the page that shows only this figure. */
export function figureAddress({ lab, room, settings, theme }: Figure): string {
  const address = new URL(lab);
  address.search = theme === "auto" ? "?embed" : `?embed&theme=${encodeURIComponent(theme)}`;
  address.hash = settings ? `#/${room}?${settings}` : `#/${room}`;
  return address.href;
}
