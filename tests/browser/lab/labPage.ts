import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

import { afterAll, beforeAll, expect } from "@jest/globals";
import { createAttention, type Attention } from "headwise";
import { type Browser, type BrowserContext, type Frame, type Page } from "playwright-core";

import { serveDemo } from "../../lab/demoCommand.js";
import { launchChromium, launchChromiumWithFont } from "../chromium.js";
import { type SystemFont } from "../systemFont.js";
import { routeDecoders } from "./randomDecoder.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const ROOMS = [
  "lesson",
  "sentence",
  "matrix",
  "positions",
  "masks",
  "flash",
  "train",
  "generate",
  "tensors",
  "device",
  "bench",
];
/** Axe's rules that look at colours. The others look at elements and names, which are the same in the dark. */
export const COLOURS = ["color-contrast", "link-in-text-block"];
/** Node and the browser may run different variants, so their sums differ in the last bits. */
const TOLERANCE = 1e-5;

/** The lab in Chromium, for the tests of one file; and headwise in Node, to compare with. */
export class LabPage {
  browser!: Browser;
  hw!: Attention;
  url!: string;
  page!: Page;
  /** Rooms keep their folds as they are. Otherwise all are opened when a room is entered, so that a test meets the whole room. */
  staysFolded = false;
  readonly #troubles: string[] = [];
  readonly #hosts = new Set<string>();
  /** The pages whose decoders are random ones. */
  readonly #routed = new WeakSet<Page>();
  readonly #font: SystemFont | undefined;

  /** With a system font the lab's own font does not come. */
  constructor(font?: SystemFont) {
    this.#font = font;
    let server: Awaited<ReturnType<typeof serveDemo>>;
    beforeAll(async () => {
      this.browser = await (font ? launchChromiumWithFont(font) : launchChromium());
      this.hw = await createAttention({ backend: "wasm", threads: 1 });
      server = await serveDemo([]);
      this.url = server.url;
      this.page = await this.open();
    });
    afterAll(async () => {
      await this.browser.close();
      await server.stop();
      this.hw.dispose();
      // Nothing failed, and nothing came from elsewhere.
      expect(this.#troubles.filter((trouble) => !/404|Failed to load resource/.test(trouble))).toEqual([]);
      expect([...this.#hosts].filter((host) => host && !host.startsWith("localhost:"))).toEqual([]);
    });
  }

  /** A page whose errors and requests are watched. */
  async open(): Promise<Page> {
    const opened = await this.browser.newPage({ viewport: { width: 1280, height: 900 } });
    if (this.#font) await withoutOwnFont(opened);
    opened.on("pageerror", (error) => this.#troubles.push(error.message));
    opened.on("console", (message) => message.type() === "error" && this.#troubles.push(message.text()));
    opened.on("request", (request) => this.#hosts.add(new URL(request.url()).host));
    return opened;
  }

  /** Opens a room, as in "masks?queries=3", and waits until it is drawn. */
  async enter(place: string, page = this.page, site = this.url): Promise<void> {
    const room = roomOf(place);
    await this.#prepare(room, page);
    await leave(page, site);
    await page.goto(`${site}#/${place}`);
    await this.ready(room, page);
    if (!this.staysFolded) await this.unfold(page);
  }

  /** Goes to a room from another one, as a link does, without loading the page anew: half the work of `enter`. */
  async walk(place: string): Promise<void> {
    const room = roomOf(place);
    const isElsewhere = this.page.url().startsWith(`${this.url}#/`) && roomOf(this.page.url().split("#/")[1]!) !== room;
    if (!isElsewhere) return this.enter(place);
    await this.#prepare(room, this.page);
    await this.page.goto(`${this.url}#/${place}`);
    await this.ready(room);
    if (!this.staysFolded) await this.unfold();
  }

  /**
   * The decoders of the room Generate are small ones with random weights. Only a page that enters it has a route to them: a
   * route stops every request of a page, which makes it load with a sixth more work.
   */
  async #prepare(room: string, page: Page): Promise<void> {
    if (room !== "generate" || this.#routed.has(page)) return;
    this.#routed.add(page);
    await routeDecoders(page);
  }

  /** Waits until a room is drawn. */
  async ready(room: string, page = this.page): Promise<void> {
    await page.waitForSelector(`[data-room=${room}][aria-busy=false]`);
  }

  /** Opens all folded parts of a room. */
  async unfold(page = this.page): Promise<void> {
    await page.evaluate(() => {
      for (const fold of document.querySelectorAll<HTMLDetailsElement>("main details:is(.card, .panel)"))
        fold.open = true;
    });
    await this.frames(page);
  }

  /** Compares what is shown with double precision, as a visitor does. */
  async compare(page = this.page): Promise<void> {
    if ((await page.locator(".check[open]").count()) === 0) await page.getByText("Check this", { exact: true }).click();
    await page.getByRole("button", { name: "Compare with double precision" }).click();
  }

  /** Waits until the page has drawn all changes and seen a new size: both happen once a frame. */
  async frames(page: Page | Frame = this.page): Promise<void> {
    await page.evaluate(async () => {
      for (let frame = 0; frame < 2; ++frame) await new Promise(requestAnimationFrame);
    });
  }

  /** The numbers of the room's first map. */
  mapNumbers(): Promise<number[]> {
    return this.page.evaluate(() => [
      ...(document.querySelector("attention-map") as unknown as { probs: { data: Float32Array } }).probs.data,
    ]);
  }

  /** The numbers of a visible matrix, rounded to two digits. */
  tableNumbers(name: string): Promise<number[]> {
    return this.page
      .locator(`table[aria-label="${name}"] tbody td`)
      .evaluateAll((cells) => cells.map((cell) => Number(cell.textContent.replace("−", "-"))));
  }

  /**
   * What axe has to say against the page once it is drawn: by all its rules, or only by those named, or by all but those of
   * colours, which take most of the time.
   */
  async axe(page: Page | Frame = this.page, rules?: readonly string[] | "all but colours"): Promise<string[]> {
    await this.frames(page);
    // What is still on its way, and colours that change, are not what a reader sees.
    await page.evaluate(async () => {
      while (document.querySelector(".arriving")) await new Promise(requestAnimationFrame);
      const ends = ({ effect }: Animation) => Number.isFinite(effect?.getComputedTiming().endTime);
      await Promise.allSettled(
        document
          .getAnimations()
          .filter(ends)
          .map(({ finished }) => finished),
      );
    });
    if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
    // What passes is not described.
    const chosenRules =
      rules === "all but colours"
        ? { rules: Object.fromEntries(COLOURS.map((name) => [name, { enabled: false }])) }
        : rules && { runOnly: { type: "rule", values: rules } };
    const options = { resultTypes: ["violations"], ...chosenRules };
    return page.evaluate(async (chosen) => {
      const { axe } = window as unknown as {
        axe: {
          run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
        };
      };
      const result = await axe.run(chosen);
      return result.violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`,
      );
    }, options);
  }
}

const roomOf = (place: string) => place.split("?")[0]!;

/**
 * Shows next to nothing: a file of the site with few characters. From there the site is loaded anew, in the process that
 * Chromium has for it. From about:blank Chromium would start another process, with half a second more work.
 */
export const leave = (page: Page, site: string) => page.goto(new URL("elsewhere.js", site).href);

/** The lab's own font does not come: its text is in a font of the system. */
export async function withoutOwnFont(pages: Page | BrowserContext): Promise<void> {
  await pages.route(/\/inter-[^/]*\.woff2$/, (route) => route.abort());
}

export function expectClose(found: readonly number[], wanted: ArrayLike<number>): void {
  expect(found).toHaveLength(wanted.length);
  const apart = found.map((value, i) => (Object.is(value, wanted[i]) ? 0 : Math.abs(value - wanted[i]!)));
  expect(Math.max(...apart)).toBeLessThanOrEqual(TOLERANCE);
}
