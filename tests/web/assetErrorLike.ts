import { expect } from "@jest/globals";

/** What an AssetError must be like, for `toMatchObject`. */
export const assetErrorLike = (code: string, message: RegExp, hint: RegExp) => ({
  name: "AssetError",
  code,
  message: expect.stringMatching(message) as unknown,
  hint: expect.stringMatching(hint) as unknown,
});
