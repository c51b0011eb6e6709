export const MAP_CSS = `
.frame-all { display: grid; gap: 0.75rem; }
.strip { display: flex; flex-wrap: wrap; gap: 0.5rem; margin: -3px; padding: 3px; max-height: 12rem; overflow-y: auto; }
.strip[hidden] { display: none; }
.strip button {
  display: grid; justify-items: center; gap: 0.2rem; min-width: 3.4rem; padding: 0.3rem;
  border-radius: 0.6rem; color: var(--quiet); font-size: 0.75rem; line-height: 1.2;
}
.strip canvas { display: block; border-radius: 0.3rem; image-rendering: pixelated; }
.strip button[aria-checked="true"] { border-color: var(--accent); box-shadow: 0 0 0 1px var(--accent); color: var(--ink); font-weight: 600; }
.plot { position: relative; overflow: hidden; }
.plot[hidden], .legend[hidden] { display: none; }
.spring { flex: 1; }
.plot > canvas { display: block; }
.grid { position: absolute; max-height: var(--headwise-map-height, 36rem); outline: none; cursor: crosshair; border-radius: 2px; touch-action: pan-x pan-y; user-select: none; -webkit-user-select: none; }
.grid.enlarged { touch-action: none; }
.grid:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.grid > *, .grid [role="row"] > * { pointer-events: none; }
.grid:not(.active) > * { visibility: hidden; }
.band, .frame, .pill { position: absolute; left: 0; top: 0; }
.band { background: color-mix(in srgb, var(--accent) 9%, transparent); outline: 1px solid color-mix(in srgb, var(--accent) 45%, transparent); }
.frame { outline: 2px solid var(--ink); box-shadow: 0 0 0 3px var(--surface); border-radius: 1px; }
.locked .frame { outline: 3px solid var(--accent); }
.pill {
  z-index: 1; max-width: 16rem; padding: 0.05rem 4px; border-radius: 0.25rem; overflow: hidden;
  background: var(--ink); color: var(--surface); font-size: 12px; line-height: 1.35; white-space: nowrap; text-overflow: ellipsis;
}
.locked .pill { background: var(--accent); }
.frame-all { position: relative; }
.tooltip {
  position: absolute; left: 0; top: 0; z-index: 2; display: grid; width: max-content; max-width: min(18rem, 80vw); max-height: 40vh;
  padding: 0.3rem 0.6rem; border: 1px solid var(--line); border-radius: 0.45rem; overflow: hidden; background: var(--surface);
  box-shadow: 0 0.15rem 0.6rem rgb(0 0 0 / 22%); font-size: 0.85rem; line-height: 1.35; overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums; pointer-events: none;
}
.tooltip[hidden] { display: none; }
.tooltip strong { font-size: 1.05rem; }
.pill.key { top: auto; bottom: calc(100% + 3px); }
.legend { display: flex; flex-wrap: wrap; gap: 0.4rem 1.25rem; align-items: center; color: var(--quiet); font-size: 0.8rem; font-variant-numeric: tabular-nums; }
.legend > span { display: inline-flex; gap: 0.45rem; align-items: center; }
.legend [hidden] { display: none; }
.bar { width: 9rem; height: 0.7rem; border-radius: 0.2rem; outline: 1px solid var(--line); outline-offset: -1px; }
.swatch { width: 1.1rem; height: 0.8rem; border-radius: 0.15rem; outline: 1px solid var(--line);
  background: repeating-linear-gradient(-45deg, transparent 0 3px, var(--hatch) 3px 4px); }
@media (forced-colors: active) {
  .strip button[aria-checked="true"] { outline: 3px solid Highlight; outline-offset: -1px; }
  .grid:focus-visible { outline: 3px solid Highlight; }
  .frame, .locked .frame { outline: 3px solid Highlight; border: 2px solid Canvas; }
  .band { outline: 1px solid CanvasText; }
  .pill, .locked .pill { forced-color-adjust: none; background: Highlight; color: HighlightText; }
  .bar, .swatch { forced-color-adjust: none; }
}
`;
