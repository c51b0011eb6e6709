import { afterEach, describe, expect, test } from "@jest/globals";

import { keptTexts } from "../../web/src/auto/keptTexts.js";

const globals = globalThis as Record<string, unknown>;

/** A Cache API that keeps texts in a map. */
function cachesIn(texts: Map<string, string>) {
  const cache = {
    match: (address: string) => Promise.resolve(texts.has(address) ? new Response(texts.get(address)) : undefined),
    put: async (address: string, response: Response) => void texts.set(address, await response.text()),
  };
  return { open: () => Promise.resolve(cache) };
}

afterEach(() => {
  delete globals.caches;
  delete globals.location;
});

describe("what is kept between visits", () => {
  test("lies in the Cache API of a page or a worker, under an address that is never requested", async () => {
    const texts = new Map<string, string>();
    globals.location = { origin: "https://page.test" };
    globals.caches = cachesIn(texts);
    await keptTexts().write("a|b c", "text");
    expect([...texts]).toEqual([["https://page.test/headwise-calibration/a%7Cb%20c", "text"]]);
    expect(await keptTexts().read("a|b c")).toBe("text");
    expect(await keptTexts().read("other")).toBeUndefined();
  });

  test("is kept for the process where there is no storage: in Node", async () => {
    await keptTexts().write("key", "text");
    expect(await keptTexts().read("key")).toBe("text");
  });

  test("is only kept for the process if the page has no origin, whose storage throws when it is read", async () => {
    globals.location = { origin: "https://page.test" };
    Object.defineProperty(globals, "caches", {
      configurable: true,
      get: () => {
        throw new DOMException("denied", "SecurityError");
      },
    });
    await keptTexts().write("key", "second");
    expect(await keptTexts().read("key")).toBe("second");
  });
});
