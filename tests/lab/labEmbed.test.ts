// What puts a figure of the lab into another page, without a browser: addresses, messages, markup, and embed.js in Node.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";

import { expect, test } from "@jest/globals";

import { listings } from "../package/listings.js";

import { figureAddress, labAddress } from "../../web/demo/embed/figureAddress.js";
import { heightIn } from "../../web/demo/embed/heightMessage.js";
import { elementMarkup, frameMarkup } from "../../web/demo/lab/embed/markup.js";

const LAB = "https://your.host/lab/";

test.each([
  ["masks", "", "auto", "", "?embed#/masks"],
  ["masks", "causal=off&left=7", "auto", "", "?embed#/masks?causal=off&left=7"],
  ["masks", "left=7", "dark", "", "?embed&theme=dark#/masks?left=7"],
  ["masks", "left=7", "auto", "2", "?embed&card=2#/masks?left=7"],
  ["masks", "", "dark", "2", "?embed&card=2&theme=dark#/masks"],
  ["", "", "light", "", "?embed&theme=light#/"],
])(
  "the address of room %p with settings %p, theme %p and card %p ends in %p",
  (room, settings, theme, card, ending) => {
    expect(figureAddress({ lab: LAB, room, settings, theme, card })).toBe(LAB + ending);
  },
);

test("the address of a lab may name its file", () => {
  const figure = {
    lab: "https://your.host/lab/index.html?old#/flash",
    room: "masks",
    settings: "",
    theme: "auto",
    card: "",
  };
  expect(figureAddress(figure)).toBe("https://your.host/lab/index.html?embed#/masks");
});

test.each(["http://", "javascript:alert(1)", "data:text/html,a"])("%s is no address of a lab", (given) => {
  expect(() => labAddress(given, LAB)).toThrow(
    `<headwise-figure>: lab must be the address of a page, got ${JSON.stringify(given)}`,
  );
});

test("the address of a lab is read in relation to its page", () => {
  expect(labAddress("../lab/", "https://your.host/texts/one.html")).toBe("https://your.host/lab/");
});

test("a height is read from a message of a figure, and from no other", () => {
  expect(heightIn({ type: "headwise-height", height: 812 })).toBe(812);
  const others = [undefined, null, 812, "headwise-height", {}, { type: "height", height: 812 }];
  const broken = [undefined, "812", NaN, Infinity, 0, -1].map((height) => ({ type: "headwise-height", height }));
  for (const message of [...others, ...broken]) expect(heightIn(message)).toBeUndefined();
});

test("embed.js can be imported in Node, where it gives the class and defines nothing", () => {
  const program =
    'const { HeadwiseFigure } = await import("./dist-demo/page/embed.js");' +
    'console.log(HeadwiseFigure.observedAttributes.join(), "customElements" in globalThis);';
  const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
  expect(printed).toBe("lab,room,card,settings,theme,label false\n");
});

test.each([
  ["Page.tsx", "react/Page.tsx"],
  ["reactFigure.d.ts", "react/reactFigure.d.ts"],
  ["Page.svelte", "svelte/Page.svelte"],
  ["svelteFigure.d.ts", "svelte/svelteFigure.d.ts"],
  ["notebook.html", "observable/index.html"],
])("the listing %s is the example that is built in tests/package/matrix/embed.test.ts", (listing, example) => {
  expect(listings.get(listing)).toBe(readFileSync(`web/demo/embed/examples/${example}`, "utf8"));
});

const FIGURE = { lab: LAB, room: "sentence", settings: 'text=A+"B"&left=7', title: 'Say <"&">', card: "", height: 812 };

test("the element's markup has the room, its settings, a name, and a link in its place", () => {
  expect(elementMarkup(FIGURE)).toBe(
    `<script type="module" src="https://your.host/lab/embed.js"></script>
<headwise-figure room="sentence" settings="text=A+&quot;B&quot;&amp;left=7" label="Say &lt;&quot;&amp;&quot;&gt;">
  <a href="https://your.host/lab/#/sentence?text=A+%22B%22&amp;left=7">Say &lt;&quot;&amp;&quot;&gt;, in the headwise lab</a>
</headwise-figure>`,
  );
  expect(elementMarkup({ ...FIGURE, settings: "" })).toContain('<headwise-figure room="sentence" label=');
  expect(elementMarkup({ ...FIGURE, settings: "", card: "2" })).toContain(
    '<headwise-figure room="sentence" card="2" label=',
  );
});

test("the frame's markup has the same, and a height", () => {
  expect(frameMarkup(FIGURE)).toBe(
    '<iframe src="https://your.host/lab/?embed#/sentence?text=A+%22B%22&amp;left=7" title="Say &lt;&quot;&amp;&quot;&gt;"' +
      ' width="100%" height="812" style="border: 0" loading="lazy"></iframe>',
  );
});
