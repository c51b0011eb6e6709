/** A module of the built package. */
export const fromDist = (file) => import(new URL(`../../../dist/${file}`, import.meta.url).href);
