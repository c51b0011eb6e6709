import type { SvelteHTMLElements } from "svelte/elements";

import type {} from "./svelte.js";

type Props = SvelteHTMLElements["attention-map"];
export const props: Props = { class: "wide", kind: "scores", onheadchange: ({ detail }) => console.log(detail.head) };

// @ts-expect-error: a palette that does not exist
export const wrong: Props = { palette: "rainbow" };
