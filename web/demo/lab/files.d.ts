// What the build makes of files that are no TypeScript.

/** A formula, set by KaTeX. */
declare module "*.tex" {
  const html: string;
  export default html;
}

/** A style sheet, linked into the page. */
declare module "*.css";
