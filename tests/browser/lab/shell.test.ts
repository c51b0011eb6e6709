import { expect, test } from "@jest/globals";

import { serveDemo } from "../../lab/demoCommand.js";
import { COLOURS, LabPage, ROOMS } from "./labPage.js";

const lab = new LabPage();

test("every room that computes is near its definition in double precision, and its code can be seen", async () => {
  for (const room of ROOMS.filter((name) => name !== "bench")) {
    await lab.walk(room);
    await lab.compare();
    const verdict = lab.page.locator(".verdict", { hasText: "Against the definition" });
    const said = await verdict.textContent();
    const distances = [...said!.matchAll(/at most (\S+) apart/g)].map(([, text]) => Number(text));
    expect(Math.max(0, ...distances)).toBeLessThan(1e-5);
    expect(await lab.page.locator(".check code").textContent()).toContain('from "headwise"');
  }
});

test("a comparison whose numbers change on the way is one of the new numbers, and of no others", async () => {
  await lab.enter("masks?queries=48");
  await lab.compare();
  const wanted = await lab.page.locator(".verdict", { hasText: /numbers/ }).textContent();
  await lab.enter("masks");
  const busy = await lab.page.evaluate(() => {
    document.querySelector<HTMLDetailsElement>("details.check")!.open = true;
    [...document.querySelectorAll("button")].find(({ textContent }) => textContent.startsWith("Compare"))!.click();
    const verdict = document.querySelector(".verdict")!;
    const said = verdict.textContent;
    const slider = document.querySelector<HTMLInputElement>("input[data-field=queries]")!;
    slider.value = "48";
    slider.dispatchEvent(new Event("input"));
    const texts: string[] = [];
    Object.assign(window, { texts });
    new MutationObserver(() => texts.push(verdict.textContent)).observe(verdict, { childList: true });
    return said;
  });
  expect(busy).toContain("Computing");
  await lab.page.locator(".verdict", { hasText: /numbers/ }).waitFor();
  const texts = await lab.page.evaluate(() => (window as unknown as { texts: string[] }).texts);
  expect(texts.filter((text) => /numbers/.test(text))).toEqual([wanted]);
});

test("a comparison that is asked for while the room draws is one of what is drawn then; another engine takes it away", async () => {
  const page = await lab.open();
  await lab.enter("sentence", page);
  await page.route("**/model/weights-2*", async (route) => {
    await page.getByText("Computing in double precision").waitFor();
    await route.continue();
  });
  await page.getByLabel("Sentences, one per line").fill("One two.");
  await lab.compare(page);
  const verdict = page.locator(".verdict", { hasText: /numbers/ });
  await verdict.waitFor();
  // Two layers of four heads, and three tokens.
  expect(await verdict.textContent()).toContain(`probabilities of all heads: ${2 * 4 * 3 * 3} numbers`);
  await page.waitForFunction(() => location.hash.includes("texts="));
  await page.evaluate(() => (location.hash += "&threads=1"));
  await page.waitForFunction(() => document.querySelector(".verdict")!.textContent === "");
  expect(await page.locator(".failure:visible").count()).toBe(0);
  await page.close();
});

test("a folder that is gone when it is dropped is told", async () => {
  await lab.walk("tensors");
  await lab.page.evaluate(() => {
    const gone = new DOMException("gone", "NotFoundError");
    const entry = {
      isDirectory: true,
      createReader: () => ({ readEntries: (_: unknown, fail: (error: Error) => void) => fail(gone) }),
    };
    const items = [{ kind: "file", webkitGetAsEntry: () => entry, getAsFile: () => null }];
    const event = new DragEvent("drop", { bubbles: true, cancelable: true });
    Object.defineProperty(event, "dataTransfer", { value: { types: ["Files"], items } });
    document.querySelector(".drop")!.dispatchEvent(event);
  });
  await lab.page.getByText("This did not work: what was dropped could not be read.").waitFor();
});

test.each(["light", "dark"] as const)(
  "axe finds nothing to complain of in %s rooms, and they fit a phone",
  async (colorScheme) => {
    await lab.page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    for (const room of ROOMS) {
      await lab.page.setViewportSize({ width: 1280, height: 900 });
      await lab.walk(room);
      const rules = colorScheme === "dark" ? COLOURS : undefined;
      expect([room, ...(await lab.axe(lab.page, rules))]).toEqual([room]);
      await lab.page.setViewportSize({ width: 390, height: 800 });
      expect(await lab.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    }
    await lab.page.setViewportSize({ width: 1280, height: 900 });
    await lab.page.emulateMedia({ colorScheme: null, reducedMotion: null });
  },
);

test.each([1280, 1366])("the bar of a page %i pixels wide shows the names of all rooms whole", async (width) => {
  await lab.enter("sentence");
  await lab.page.setViewportSize({ width: width - 15, height: 900 }); // 15 pixels are the bar that scrolls a page
  const hidden = await lab.page.evaluate(() => {
    const { clientWidth, scrollWidth } = document.querySelector("#rooms")!;
    return scrollWidth - clientWidth;
  });
  await lab.page.setViewportSize({ width: 1280, height: 900 });
  expect(hidden).toBe(0);
});

test.each(["en", "de"])(
  "on a phone, in “%s”, the pill of the engine is not cut, and its panel says the rest",
  async (lang) => {
    const page = await lab.browser.newPage({ viewport: { width: 390 - 15, height: 844 } });
    await page.goto(`${lab.url}?lang=${lang}#/lesson`);
    await lab.ready("lesson", page);
    const summary = page.locator("#engine summary");
    await summary.getByText("wasm").waitFor();
    expect(await summary.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    await summary.click();
    expect(await page.locator("#engine-panel li").first().innerText()).toMatch(/ · wasm · [a-z]+ · \d+ [Tt]hreads?$/);
    await page.close();
  },
);

test("the keyboard alone goes from room to room, sets and reads", async () => {
  await lab.enter("sentence");
  const focused = () => lab.page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
  const tabTo = async (words: string) => {
    for (let presses = 0; presses < 60 && (await focused()) !== words; presses++) await lab.page.keyboard.press("Tab");
    expect(await focused()).toBe(words);
  };
  await tabTo("Skip to the room");
  await tabTo("Matrix");
  await lab.page.keyboard.press("Enter");
  await lab.ready("matrix");
  expect(await lab.page.evaluate(() => document.activeElement?.id)).toBe("main");
  await lab.page.keyboard.press("Tab"); // the first slider: positions
  await lab.page.keyboard.press("ArrowRight");
  await lab.page.waitForFunction(() => location.hash.includes("positions=6"));
  await lab.ready("matrix"); // a control that is drawn again while Tab moves on would lose the focus
  for (
    let presses = 0;
    presses < 120 && !(await lab.page.evaluate(() => document.activeElement?.matches("[aria-label=scores] td")));
    presses++
  )
    await lab.page.keyboard.press("Tab");
  await lab.page.keyboard.press("ArrowDown");
  await lab.page.keyboard.press("ArrowRight");
  await lab.page.getByText(/^Row “phone” of Q₁ times column “phone” of K₁ᵀ/).waitFor();
});

test("there are eight doors; Flash is beside Masks, and device and bench are behind the engine", async () => {
  await lab.enter("masks");
  const { page } = lab;
  const doors = page.getByRole("navigation", { name: "Rooms" }).locator("#rooms a");
  expect(await doors.allTextContents()).toEqual([
    ...["Lesson", "Sentence", "Matrix", "Positions", "Masks", "Train", "Generate", "Your model"],
  ]);
  const current = () => page.locator("#rooms a[aria-current]").allTextContents();
  const beside = page.getByRole("navigation", { name: "Beside this room" });
  expect(await beside.getByRole("link").allTextContents()).toEqual(["Masks", "Flash"]);
  await beside.getByRole("link", { name: "Flash" }).click();
  await lab.ready("flash");
  expect([await current(), await beside.locator("[aria-current]").allTextContents()]).toEqual([["Masks"], ["Flash"]]);
  await page.locator("#engine summary").click();
  await page.getByRole("navigation", { name: "Engine" }).getByRole("link", { name: "Bench" }).click();
  await lab.ready("bench");
  expect([await current(), await page.locator("#engine").getAttribute("open")]).toEqual([[], null]);
  await beside.getByRole("link", { name: "Your device" }).click();
  await lab.ready("device");
  expect(await page.locator("#engine.here").count()).toBe(1);
  expect(await page.locator("a.next b").textContent()).toBe("Bench");
  await lab.enter("tensors");
  expect(await page.locator("a.next b").textContent()).toBe("Lesson");
  for (const [width, height] of [
    [390, 500],
    [820, 1180],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.locator("#engine summary").click();
    const { x, y, width: wide, height: high } = (await page.locator("#engine-panel").boundingBox())!;
    expect([x >= 0, x + wide <= width, y + high <= height]).toEqual([true, true, true]);
    await page.locator("#engine summary").click();
  }
  await page.setViewportSize({ width: 1280, height: 900 });
});

test("addresses from before still open their rooms, with their settings", async () => {
  for (const [place, control, value] of [
    ["flash?length=20", "length", "20"],
    ["device?seconds=0.1", "seconds", "0.1"],
    ["bench?log=false", "log", "on"],
  ] as const) {
    await lab.walk(place);
    expect([place, await lab.page.locator(`main [data-field=${control}]`).inputValue()]).toEqual([place, value]);
    expect(await lab.page.evaluate(() => location.hash)).toBe(`#/${place}`);
  }
});

test.each([
  ["generate", "[data-head][aria-pressed=true]"],
  ["tensors", "main h2 >> text=/^Layer \\d head \\d$/"],
  ["sentence", ".picture small"],
  ["lesson", "select[data-field=head] option:checked"],
])(
  "%s: head=2.2 of the address is layer 2 head 2, and head=2.0 is what the room shows without it",
  async (room, shown) => {
    const head = async (address: string) => {
      await lab.enter(address);
      const node = lab.page.locator(shown).first();
      return (await node.getAttribute("aria-label")) ?? (await node.textContent());
    };
    expect((await head(`${room}?head=2.2`))!.toLowerCase()).toBe("layer 2 head 2");
    const without = await head(room);
    for (const none of ["2.0", "0"]) expect(await head(`${room}?head=${none}`)).toBe(without);
    expect(await lab.page.locator(".failure:visible").count()).toBe(0);
  },
);

test("what is set survives a reload, through the address", async () => {
  await lab.enter("masks");
  await lab.page.getByRole("button", { name: "Mistral" }).click();
  await lab.page.getByLabel("Queries", { exact: true }).press("ArrowLeft");
  await lab.page.waitForFunction(() => location.hash.includes("queries=23"));
  await lab.ready("masks");
  const before = [lab.page.url(), await lab.mapNumbers()];
  await lab.page.reload();
  await lab.ready("masks");
  expect([lab.page.url(), await lab.mapNumbers()]).toEqual(before);
  expect(await lab.page.getByLabel("Window left", { exact: true }).inputValue()).toBe("7");
});

test("a page that is not isolated computes with one thread and says why", async () => {
  const plain = await serveDemo(["--no-isolation"]);
  const fresh = await lab.open();
  await lab.enter("matrix", fresh, plain.url);
  await fresh.waitForSelector("#engine >> text=1 thread");
  await fresh.click("#engine summary");
  await fresh.getByText("not cross-origin isolated: one thread").waitFor();
  await fresh.close();
  await plain.stop();
});

test("what another page of the site has stored under a name of the lab does no harm", async () => {
  const context = await lab.browser.newContext();
  await context.addInitScript(() => {
    for (const name of ["headwise-lab-open", "headwise-lecture", "headwise-theme", "headwise-language"])
      for (const storage of [localStorage, sessionStorage]) storage.setItem(name, "5");
  });
  const page = await context.newPage();
  await lab.enter("masks", page);
  await page.getByRole("button", { name: "Lectures" }).click();
  await page.getByText("Nothing yet. It is kept in this browser.").waitFor();
  const list = JSON.stringify([{ title: "c".repeat(400), room: "masks", settings: null }]);
  await page.evaluate((text) => localStorage.setItem("headwise-lecture", text), list);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Lectures" }).click();
  await page.locator(".own-list li").waitFor();
  expect(await page.locator("dialog").evaluate((node) => node.scrollWidth - node.clientWidth)).toBe(0);
  await context.close();
});

test("a failure is said in words", async () => {
  const fresh = await lab.browser.newPage();
  await fresh.route("**/model/vocab.json", (route) => route.fulfill({ status: 503, body: "" }));
  await fresh.goto(`${lab.url}#/sentence?texts=Hello`);
  await fresh.getByText("vocab.json could not be loaded: the server answered 503").waitFor();
  await fresh.close();
});

test("a file dropped anywhere leaves the page where it is, and it says where files belong", async () => {
  await lab.enter("masks");
  const drop = (selector: string, kind: "file" | "text") =>
    lab.page.evaluate(
      ([where, what]) => {
        const dataTransfer = new DataTransfer();
        if (what === "file") dataTransfer.items.add(new File(["1"], "query.npy"));
        else dataTransfer.setData("text/plain", "a word");
        return ["dragover", "drop"].map(
          (name) =>
            !document
              .querySelector(where!)!
              .dispatchEvent(new DragEvent(name, { bubbles: true, cancelable: true, dataTransfer })),
        );
      },
      [selector, kind],
    );
  expect(await drop("h1", "text")).toEqual([false, false]); // text may be dropped into a field
  expect(await drop("h1", "file")).toEqual([true, true]);
  expect(await drop("#bar", "file")).toEqual([true, true]);
  const notice = lab.page.locator(".notice");
  expect(await notice.textContent()).toBe("Files belong in the room Your model.");
  await notice.getByRole("link").click();
  await lab.ready("tensors");
});

test.each([...ROOMS, "masks?kvHeads=2", "tensors?mode=attention"])(
  "heads and layers count from 1 wherever people read them: %s",
  async (room) => {
    await lab.walk(room);
    const read = await lab.page.evaluate(() => {
      const texts: string[] = [];
      const walk = (root: ParentNode) => {
        for (const node of root.querySelectorAll("main *, *")) {
          for (const name of ["aria-label", "title", "aria-valuetext"]) texts.push(node.getAttribute(name) ?? "");
          for (const child of node.childNodes) if (child instanceof Text) texts.push(child.data);
          if (node.shadowRoot) walk(node.shadowRoot);
        }
      };
      walk(document);
      return texts.filter((text) => /\b(head|layer) 0\b/i.test(text));
    });
    expect(read).toEqual([]);
  },
);

test.each(["matrix", "train", "generate"])("without a GPU, WebGPU is refused with a way on: %s", async (room) => {
  const page = await lab.browser.newPage();
  await page.addInitScript(() => Object.defineProperty(navigator, "gpu", { value: undefined }));
  await page.goto(`${lab.url}#/${room}?backend=webgpu`);
  const failure = page.locator(".room > .failure");
  await failure.getByText("under “no engine”, “Automatic” takes what this device has").waitFor();
  expect(await page.textContent("body")).not.toContain("node_modules");
  await page.locator("#engine summary").click();
  await page.getByText("Automatic", { exact: true }).click();
  await failure.waitFor({ state: "hidden" });
  await page.close();
});
