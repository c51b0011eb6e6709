export const HEADS_CSS = `
.all { display: grid; gap: 0.75rem; }
.chips { display: flex; flex-wrap: wrap; gap: 0.4rem; }
.chips button { display: inline-flex; gap: 0.45rem; align-items: center; border-radius: 1rem; }
.chips i { width: 0.8rem; height: 0.8rem; border: 2px solid var(--head); border-radius: 50%; }
.chips [aria-pressed="true"] i { background: var(--head); }
.chips [aria-pressed="true"] { border-color: var(--head); }
.chips [aria-pressed="false"] { color: var(--quiet); }
.toolbar label { display: inline-flex; gap: 0.5rem; align-items: center; color: var(--quiet); font-size: 0.85rem; font-variant-numeric: tabular-nums; }
label :last-child { white-space: nowrap; }
input[type="range"] { width: 9rem; accent-color: var(--accent); }
.scroll {
  direction: ltr; position: relative; display: grid; grid-template-columns: fit-content(38%) minmax(4rem, 26rem) fit-content(38%);
  max-height: var(--headwise-heads-height, 36rem); overflow: hidden auto; overscroll-behavior: contain;
}
.scroll[hidden] { display: none; }
.scroll:focus-visible { outline-offset: -2px; }
.stage { position: sticky; top: 0; height: 0; }
.stage canvas { display: block; }
ul { margin: 0; padding: 0; list-style: none; z-index: 1; }
li {
  height: 26px; padding: 0 0.5rem; border-radius: 0.35rem; overflow: hidden; line-height: 26px; font-size: 0.9rem;
  white-space: nowrap; text-overflow: ellipsis; cursor: pointer; user-select: none; -webkit-user-select: none;
}
.query li { text-align: right; }
li:hover { background: color-mix(in srgb, var(--ink) 8%, transparent); }
li:focus-visible { outline-offset: -2px; }
li[aria-selected="true"] { background: var(--ink); color: var(--surface); }
@media (forced-colors: active) {
  .chips i { forced-color-adjust: none; }
  .chips [aria-pressed="true"] { outline: 2px solid Highlight; outline-offset: -2px; }
  li[aria-selected="true"] { forced-color-adjust: none; background: Highlight; color: HighlightText; }
}
.looking li:not(.linked, [aria-selected="true"], :hover, :focus-visible) { color: var(--quiet); }
`;

/** The height of a token in CSS pixels. It must equal the height in the style above. */
export const TOKEN_HEIGHT = 26;
