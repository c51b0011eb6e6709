import { describe, expect, test } from "@jest/globals";

import { chosenPictures, MOST_PICTURES } from "../../web/demo/lab/share/film.js";

describe("the pictures of a film", () => {
  test("are all, if there are few", () => {
    expect(chosenPictures(0)).toEqual([]);
    expect(chosenPictures(1)).toEqual([0]);
    expect(chosenPictures(7)).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  test.each([MOST_PICTURES + 1, 100, 2001])(
    "of %d are as many as a film has, in order, with the first and the last",
    (count) => {
      const chosen = chosenPictures(count);
      expect(chosen).toHaveLength(MOST_PICTURES);
      expect([chosen[0], chosen.at(-1)]).toEqual([0, count - 1]);
      const steps = chosen.slice(1).map((picture, at) => picture - chosen[at]!);
      const even = (count - 1) / (MOST_PICTURES - 1);
      expect(Math.min(...steps)).toBeGreaterThanOrEqual(Math.floor(even));
      expect(Math.max(...steps)).toBeLessThanOrEqual(Math.ceil(even));
    },
  );
});
