import type { HeightMessage } from "../../embed/heightMessage.js";
import { byId, element } from "../shell/element.js";
import "./figurePage.css";

const search = new URLSearchParams(location.search);

/** Whether this page shows one room as a figure of another page, as with "?embed". */
export const isFigure = search.has("embed");
/** The theme that the other page wants, as in "?embed&theme=dark". */
export const figureTheme = search.get("theme");

/** Leaves only the room, links to the lab, and tells the page around it how high the room is. */
export function showFigure(): void {
  document.documentElement.dataset["figure"] = "";
  const link = element("a", { target: "_blank", rel: "noopener" }, "Open in the headwise lab");
  const credit = element("p", { id: "figure-credit" }, link);
  document.body.append(credit);
  const tell = () => {
    if (!document.querySelector("[data-room][aria-busy=false]") || document.querySelector(".failure:not([hidden])"))
      return;
    link.href = location.pathname + location.hash;
    const height = Math.ceil(document.documentElement.getBoundingClientRect().height);
    // Any page may show the figure. It learns nothing but the height.
    parent.postMessage({ type: "headwise-height", height } satisfies HeightMessage, "*");
  };
  new ResizeObserver(tell).observe(document.body);
  new MutationObserver(tell).observe(byId("main"), { subtree: true, attributeFilter: ["aria-busy"] });
}
