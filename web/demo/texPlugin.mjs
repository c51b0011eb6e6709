// Formulas: `import formula from "./softmax.tex"` gives HTML with MathML for screen readers, set while building, so that
// the page carries KaTeX's style and fonts but not its program.

import katex from "katex";

export function tex() {
  return {
    name: "tex",
    transform(source, id) {
      if (!id.endsWith(".tex")) return undefined;
      const html = katex.renderToString(source.trim(), { throwOnError: true, displayMode: true });
      return { code: `export default ${JSON.stringify(html)};`, map: null };
    },
  };
}

/** KaTeX offers each font in three formats; every browser that runs headwise reads the first. */
export function onlyWoff2() {
  return {
    name: "only-woff2",
    enforce: "pre",
    transform(source, id) {
      if (!id.includes("katex") || !id.includes(".css")) return undefined;
      return { code: source.replace(/,url\([^)]*\.(woff|ttf)\) format\("\w+"\)/g, ""), map: null };
    },
  };
}
