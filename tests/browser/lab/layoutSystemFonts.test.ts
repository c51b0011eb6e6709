// The lab's font may come too late. Its layout is then in a font of the system, which may be any.

import { describe, expect, test } from "@jest/globals";

import { drawnFont, SYSTEM_FONTS } from "../systemFont.js";
import { LabPage } from "./labPage.js";
import { testLayout } from "./layout.js";

const isLinux = process.platform === "linux";

describe.each(SYSTEM_FONTS)("with the system font %s", (font) => {
  const lab = new LabPage(font);
  testLayout(lab, font);

  // Elsewhere Chromium does not ask fontconfig, and the tests run with the system's own font.
  (isLinux ? test : test.skip)(
    `text is drawn in it${isLinux ? "" : " (skipped: only on Linux does Chromium ask fontconfig)"}`,
    async () => {
      await lab.enter("matrix");
      expect(await drawnFont(lab.page, "h1")).toBe(font);
    },
  );
});
