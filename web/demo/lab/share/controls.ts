/**
 * What acts in the page, and does nothing in a saved picture or on paper (`styles/media.css`). The name of a row or of a
 * thing in a list is text, also where it is a button.
 */
export const CONTROLS = [
  ".panel",
  ".player",
  ".quiz",
  ".scene-bar",
  ".bench-files button",
  "button:not(:is(th, td, li) > *, .token-strip *)",
  "input:not(.numbers input)",
  "textarea",
  "select",
  ":is(label, .chips, fieldset):not(.numbers *, .head-tile *)",
].join(", ");
