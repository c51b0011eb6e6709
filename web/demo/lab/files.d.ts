// The types of imported files that are not TypeScript.

/** A formula as HTML, made by KaTeX. */
declare module "*.tex" {
  const html: string;
  export default html;
}

/** The address of a worker's bundle. */
declare module "*?worker&url" {
  const address: string;
  export default address;
}

/** A style sheet that is linked into the page. */
declare module "*.css";

/** The first sentence of the lesson, with positions and without: two `PackedAnatomy` of model/packedAnatomy.ts. */
declare module "virtual:lesson" {
  const numbers: unknown;
  export default numbers;
}

/** The `PageNumbers` of model/packed.ts. The build computes them with the package. */
declare module "virtual:ahead" {
  const numbers: unknown;
  export default numbers;
}
