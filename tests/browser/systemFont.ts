import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

import { type Page } from "playwright-core";

/** KaTeX brings fonts that are nothing like each other, so they are on every machine that runs the tests. */
const FOLDER = path.join(path.dirname(createRequire(import.meta.url).resolve("katex/package.json")), "dist/fonts");

/** A narrow font, and one in which every letter is as wide as an m. */
export const SYSTEM_FONTS = ["KaTeX_Main", "KaTeX_Typewriter"] as const;
export type SystemFont = (typeof SYSTEM_FONTS)[number];

/** The environment in which Chromium on Linux takes this font, whatever a page asks the system for. */
export function environmentWith(font: SystemFont): NodeJS.ProcessEnv {
  const file = path.resolve("build/test-results", `${font}.conf`);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(
    file,
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>${FOLDER}</dir>
  <match target="pattern">
    <edit name="family" mode="prepend" binding="strong"><string>${font}</string></edit>
  </match>
</fontconfig>
`,
  );
  return { ...process.env, FONTCONFIG_FILE: file };
}

/** The font in which Chromium draws most of an element's own text. */
export async function drawnFont(page: Page, selector: string): Promise<string | undefined> {
  const session = await page.context().newCDPSession(page);
  await session.send("DOM.enable");
  await session.send("CSS.enable");
  const { root } = await session.send("DOM.getDocument");
  const { nodeId } = await session.send("DOM.querySelector", { nodeId: root.nodeId, selector });
  const { fonts } = await session.send("CSS.getPlatformFontsForNode", { nodeId });
  await session.detach();
  return fonts.sort((a, b) => b.glyphCount - a.glyphCount)[0]?.familyName;
}
