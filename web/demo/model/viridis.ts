/** Seven stops of matplotlib's viridis. Its lightness grows evenly, so colour-blind people can read it. */
const STOPS = [
  [68, 1, 84],
  [68, 58, 131],
  [49, 104, 142],
  [33, 145, 140],
  [53, 183, 121],
  [143, 215, 68],
  [253, 231, 37],
] as const;

/** The colour of a share from 0 to 1, from dark to bright. */
export function viridis(share: number): [red: number, green: number, blue: number] {
  const at = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1);
  const low = Math.min(Math.floor(at), STOPS.length - 2);
  const mix = (channel: 0 | 1 | 2) =>
    Math.round(STOPS[low]![channel] + (at - low) * (STOPS[low + 1]![channel] - STOPS[low]![channel]));
  return [mix(0), mix(1), mix(2)];
}
