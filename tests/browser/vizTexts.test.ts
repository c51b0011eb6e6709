// A page in another language says what the elements say: setTexts of headwise/viz.

import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type * as viz from "headwise/viz";
import { type Browser, type Page } from "playwright-core";

import { launchChromium } from "./chromium.js";
import type { Headwise } from "./page.js";
import { causalProbs, drawn, end, openElement } from "./vizPage.js";

const PROBS = causalProbs(2, 6);

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
});
afterAll(() => end(browser));

/** Runs in the page: sets German texts. */
async function speakGerman() {
  const address = "/viz.js";
  const { setTexts } = (await import(address)) as typeof viz;
  setTexts({
    decimalSign: ",",
    head: (head) => `Kopf ${head}`,
    token: (token) => `„${token}“`,
    hint: "Zeige auf eine Zelle.",
    cellHidden: (query, key) => `${query} darf ${key} nicht sehen.`,
    cellWeight: (query, key, share) => `${query} gibt ${share} an ${key}.`,
    hidden: "verdeckt",
    axes: "Zeilen: Anfragen, Spalten: Schlüssel",
    fit: "Ganz",
    fitAll: "Alles zeigen",
    zoomIn: "Vergrößern",
    toolbar: "Karte",
    grid: (label, head) => `${label}: ${head}, Anfragen mal Schlüssel`,
    headChoice: "Kopf",
    headSwitches: "Köpfe",
    queries: "Anfragen",
    threshold: "Verbindungen ausblenden unter",
    headSwitch: "Ein oder aus",
    links: (from, to, links) => `Stärkste Verbindungen${from && ` von ${from}`}${to && ` zu ${to}`}: ${links}.`,
    link: (from, to, share, head) => `${from && `von ${from} `}${to && `zu ${to} `}${share} (${head})`,
    svgCells: "Jedes Quadrat ist eine Zelle.",
  });
}

/** Runs in the page. */
async function speakEnglish() {
  const address = "/viz.js";
  const { setTexts } = (await import(address)) as typeof viz;
  setTexts();
}

const textOf = (page: Page, selector: string) => page.locator(selector).first().textContent();
const labelOf = (page: Page, selector: string) => page.locator(selector).first().getAttribute("aria-label");

describe("texts of another language", () => {
  test("are those of <attention-map>: read-out, tooltip, legend, buttons and grid; English comes back", async () => {
    const { page, troubles, close } = await openElement(browser, "attention-map", PROBS);
    await page.evaluate(speakGerman);
    await drawn(page);
    expect(await textOf(page, ".readout")).toBe("Zeige auf eine Zelle.");
    expect(await textOf(page, ".legend")).toMatch(/verdeckt.*Zeilen: Anfragen, Spalten: Schlüssel/);
    expect(await labelOf(page, "[role=toolbar]")).toBe("Karte");
    expect(await labelOf(page, "button:text-is('Ganz')")).toBe("Alles zeigen");
    expect(await page.locator("button:text-is('+')").getAttribute("title")).toBe("Vergrößern");
    expect(await labelOf(page, "[role=radiogroup]")).toBe("Kopf");
    expect(await page.locator("[role=radio]").allTextContents()).toEqual(["Kopf 0", "Kopf 1"]);
    expect(await labelOf(page, "[role=grid]")).toBe("Layer 1: Kopf 0, Anfragen mal Schlüssel");

    await page.evaluate(
      () => ((document.querySelector("attention-map") as viz.AttentionMap).cell = { query: 2, key: 1 }),
    );
    await drawn(page);
    expect(await textOf(page, ".readout")).toMatch(/^„sat“ gibt \d+,\d+\u00a0% an „cat“\.$/);
    expect(await textOf(page, ".tooltip")).toMatch(/^\d+,\d+\u00a0%„sat“ → „cat“$/);
    await page.evaluate(
      () => ((document.querySelector("attention-map") as viz.AttentionMap).cell = { query: 0, key: 3 }),
    );
    await drawn(page);
    expect(await textOf(page, ".readout")).toBe("„The“ darf „on“ nicht sehen.");
    expect(await textOf(page, ".tooltip")).toBe("verdeckt„The“ → „on“");

    const { svg, csv } = await page.evaluate(async () => {
      const map = document.querySelector("attention-map") as viz.AttentionMap;
      return { svg: map.toSVG(), csv: await map.toCSV() };
    });
    expect(svg).toContain("<title>Layer 1: Kopf 0</title>\n<desc>Jedes Quadrat ist eine Zelle.</desc>");
    expect(svg).not.toMatch(/="-?\d+,\d/);
    expect(csv).toMatch(/^cat,0\.\d+,0\.\d+,/m);

    await page.evaluate(speakEnglish);
    await drawn(page);
    expect(await textOf(page, ".readout")).toBe("“The” may not attend to “on”.");
    expect(await textOf(page, ".legend")).toMatch(/hidden.*rows: queries, columns: keys/);
    expect(await labelOf(page, "button:text-is('Fit')")).toBe("Fit all of it");
    expect(troubles).toEqual([]);
    await close();
  });

  test("are those of <attention-heads>: read-out, chips, slider and columns; also of one that is made later", async () => {
    const { page, troubles, close } = await openElement(browser, "attention-heads", PROBS);
    await page.evaluate(speakGerman);
    await drawn(page);
    const look = async () => {
      expect(await textOf(page, ".readout")).toMatch(
        /^Stärkste Verbindungen: von „\w+“ zu „\w+“ \d+(,\d+)?\u00a0% \(Kopf \d\), /,
      );
      expect(await textOf(page, "label")).toMatch(/^Verbindungen ausblenden unter5\u00a0%$/);
      expect(await labelOf(page, "[role=listbox].query")).toBe("Anfragen");
      expect(await labelOf(page, ".chips")).toBe("Köpfe");
      expect(await page.locator(".chips button").allTextContents()).toEqual(["Kopf 0", "Kopf 1"]);
      expect(await page.locator(".chips button").first().getAttribute("title")).toBe("Ein oder aus");
    };
    await look();
    await page.evaluate(() => {
      const old = document.querySelector("attention-heads") as viz.AttentionHeads;
      const { probs, tokens, causal } = old;
      old.replaceWith(
        Object.assign(document.createElement("attention-heads"), { probs, tokens, causal, controls: true }),
      );
    });
    await drawn(page);
    await look();
    await page.evaluate(() => {
      const heads = document.querySelector("attention-heads") as viz.AttentionHeads;
      heads.selection = { queries: [2], keys: [1] };
    });
    await drawn(page);
    expect(await textOf(page, ".readout")).toMatch(/^Stärkste Verbindungen von „sat“: zu „cat“ /);
    await page.evaluate(speakEnglish);
    await drawn(page);
    expect(await textOf(page, ".readout")).toMatch(
      /^Strongest links of “sat”: to “cat” \d+(\.\d+)?\u00a0% \(head \d\)/,
    );
    expect(await textOf(page, "label")).toBe("Hide links below5\u00a0%");
    expect(troubles).toEqual([]);
    await close();
  });

  test.each([
    ["3", "setTexts: texts must be an object"],
    ["{ hitn: 'Zeige' }", 'setTexts: unknown option "hitn" in texts'],
    ["{ hint: 3 }", "setTexts: texts.hint must be a string, got 3"],
    ["{ hint: () => 'Zeige' }", "setTexts: texts.hint must be a string, got a function"],
    ["{ head: 'Kopf' }", 'setTexts: texts.head must be a function, got "Kopf"'],
    ["{ axes: 'Zeilen', head: class {} }", "setTexts: texts.head must be a function"],
  ])("setTexts(%s) is refused, and nothing changes", async (given, said) => {
    const { page, close } = await openElement(browser, "attention-map", PROBS, { bypassCSP: true }); // for eval
    const message = await page.evaluate(async (expression) => {
      const [address, main] = ["/viz.js", "/index.js"];
      const { setTexts } = (await import(address)) as typeof viz;
      const { OptionError } = (await import(main)) as Headwise;
      // oxlint-disable-next-line no-eval -- in a page of its own
      const value = (0, eval)(`(${expression})`) as object;
      try {
        setTexts(value);
        return "nothing is refused";
      } catch (error) {
        return OptionError.is(error) ? String((error as Error).message) : `not an OptionError: ${String(error)}`;
      }
    }, given);
    expect(message).toContain(said);
    await drawn(page);
    expect(await textOf(page, ".legend")).toMatch(/rows: queries/);
    await close();
  });
});
