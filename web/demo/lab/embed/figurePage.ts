import type { HeightMessage } from "../../embed/heightMessage.js";
import { byId, element } from "../shell/element.js";
import { ADDRESS_WRITTEN } from "../shell/trail.js";
import "./figurePage.css";

const search = new URLSearchParams(location.search);

/** Whether this page shows one room as a figure of another page, as with "?embed". */
export const isFigure = search.has("embed");
/** The theme that the other page wants, as in "?embed&theme=dark". */
export const figureTheme = search.get("theme");

/**
 * Leaves only the room, links to the lab, and tells the page around it how high the room is. The first height says that
 * the room is drawn: a room that fails at once tells none, and the other page shows what it has in its place.
 */
export function showFigure(): void {
  document.documentElement.dataset["figure"] = "";
  const link = element("a", { target: "_blank", rel: "noopener" }, "Open in the headwise lab");
  addEventListener(ADDRESS_WRITTEN, () => (link.href = location.pathname + location.hash));
  document.body.append(element("footer", { id: "figure-credit" }, link));
  let drawn = false;
  const tell = () => {
    drawn ||= document.querySelector("[data-room][aria-busy=false]:not(:has(> .failure:not([hidden])))") !== null;
    if (drawn) tellHeight(Math.ceil(document.documentElement.getBoundingClientRect().height));
  };
  new ResizeObserver(tell).observe(document.body);
  new MutationObserver(tell).observe(byId("main"), { subtree: true, attributeFilter: ["aria-busy"] });
}

/** Any page may show the figure, so any may hear this. It learns nothing but the height. */
function tellHeight(height: number): void {
  parent.postMessage({ type: "headwise-height", height } satisfies HeightMessage, "*");
}
