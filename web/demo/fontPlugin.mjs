// The font of the page's text: Inter, its Latin letters, from an npm package. styles/page.css names it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const LICENSE = createRequire(import.meta.url).resolve("@fontsource-variable/inter/LICENSE");

/**
 * A plugin for Vite: the page asks for its font first of all, so that its first picture has it. The font's licence
 * lies beside the page.
 * @returns {import("vite").Plugin}
 */
export function textFont() {
  return {
    name: "text-font",
    apply: "build",
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "Inter-LICENSE.txt", source: readFileSync(LICENSE, "utf8") });
    },
    transformIndexHtml: {
      order: "post",
      handler: (_html, { bundle }) => [{ tag: "link", attrs: preloadOf(bundle), injectTo: "head-prepend" }],
    },
  };
}

function preloadOf(bundle) {
  const fonts = Object.keys(bundle).filter((file) => /\/inter-[^/]*\.woff2$/.test(file));
  if (fonts.length !== 1) throw new Error(`the page must have one font for its text, not ${fonts.length}`);
  return { rel: "preload", as: "font", type: "font/woff2", crossorigin: true, href: `./${fonts[0]}` };
}
