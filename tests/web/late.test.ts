import { describe, expect, jest, test } from "@jest/globals";

import { Late } from "../../web/src/turn/late.js";

describe("what is loaded late", () => {
  test("is loaded once, for whoever comes first", async () => {
    const load = jest.fn(async (operation: string) => Promise.resolve(`for ${operation}`));
    const late = new Late(load);
    expect(late.loaded).toBeUndefined();
    expect(await Promise.all([late.load("kvCache"), late.load("warmup")])).toEqual(["for kvCache", "for kvCache"]);
    expect(late.loaded).toBe("for kvCache");
    expect(load).toHaveBeenCalledTimes(1);
  });

  test("is tried again after a failure", async () => {
    const load = jest.fn<() => Promise<string>>().mockRejectedValueOnce(new Error("404")).mockResolvedValueOnce("here");
    const late = new Late(load);
    await expect(late.load("kvCache")).rejects.toThrow("404");
    expect(await late.load("kvCache")).toBe("here");
  });
});
