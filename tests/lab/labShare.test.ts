import { describe, expect, test } from "@jest/globals";

import { formatAddress, parseAddress, withCard, cardIn } from "../../web/demo/lab/shell/address.js";
import { elementMarkup } from "../../web/demo/lab/embed/markup.js";
import { chosenPictures, MOST_PICTURES } from "../../web/demo/lab/share/film.js";

describe("the address of a card", () => {
  test.each([
    ["#/matrix", 5, "#/matrix?card=5"],
    ["#/masks?left=7&causal=false", 2, "#/masks?left=7&causal=false&card=2"],
    ["#/masks?card=4&left=7", 2, "#/masks?left=7&card=2"],
    ["#/masks?card=4&left=7", undefined, "#/masks?left=7"],
    ["#/sentence?texts=The+cat%2C+sat.", 1, "#/sentence?texts=The+cat%2C+sat.&card=1"],
  ])("of %s, card %p, is %s", (hash, card, wanted) => {
    const { room, query } = parseAddress(hash);
    expect(formatAddress({ room, query: withCard(query, card) })).toBe(wanted);
    expect(cardIn(withCard(query, card))).toBe(card);
  });

  test.each(["", "card=", "card=0", "card=-1", "card=1.5", "card=two", "card=NaN", "card=Infinity"])(
    "%p leads to no card",
    (query) => {
      expect(cardIn(new URLSearchParams(query))).toBeUndefined();
    },
  );

  test("stands in the link that is there when a figure of one card cannot be shown", () => {
    const figure = { lab: "https://your.host/lab/", room: "masks", title: "Weights", card: "2", height: 300 };
    expect(elementMarkup({ ...figure, settings: "left=7" })).toContain('href="https://your.host/lab/#/masks?left=7&amp;card=2"'); // oxfmt-ignore
    expect(elementMarkup({ ...figure, settings: "" })).toContain('href="https://your.host/lab/#/masks?card=2"');
  });
});

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
