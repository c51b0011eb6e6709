// The types of imported files that are not TypeScript.

/** A formula as HTML, made by KaTeX. */
declare module "*.tex" {
  const html: string;
  export default html;
}

/** A style sheet that is linked into the page. */
declare module "*.css";

/** The address of a worker's built file. */
declare module "*?worker&url" {
  const url: string;
  export default url;
}
