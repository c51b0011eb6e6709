// The types of imported files that are not TypeScript.

/** A formula as HTML, made by KaTeX. */
declare module "*.tex" {
  const html: string;
  export default html;
}

/** A style sheet that is linked into the page. */
declare module "*.css";

/** What the build has computed for the page, with the package. */
declare module "virtual:ahead" {
  const page: import("../model/packed.js").PageNumbers;
  export default page;
}
