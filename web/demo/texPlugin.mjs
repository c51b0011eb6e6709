// Formulas: `import formula from "./softmax.tex"` gives HTML, with MathML for screen readers. The build makes it, so
// the page contains the styles and fonts of KaTeX but not its code.

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

/** Keeps one font format. KaTeX has three; every browser that runs headwise reads woff2. */
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
