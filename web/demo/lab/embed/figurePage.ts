import type { HeightMessage } from "../../embed/heightMessage.js";
import { formatAddress, parseAddress, withCard } from "../shell/address.js";
import { byId, element } from "../shell/element.js";
import { t } from "../../texts/t.js";
import { CARDS } from "./cards.js";
import { unfold } from "../shell/folds.js";
import { ADDRESS_WRITTEN } from "../shell/trail.js";
import "./figurePage.css";

const search = new URLSearchParams(location.search);

/** Whether this page shows one room as a figure of another page, as with "?embed". */
export const isFigure = search.has("embed");
/** The theme that the other page wants, as in "?embed&theme=dark". */
export const figureTheme = search.get("theme");
/** The number of the only card to show, as in "?embed&card=2". */
const card = Number(search.get("card"));

/**
 * Leaves only the room or one card of it, links to the lab, and tells the page around it how high the figure is. The
 * first height says that it is drawn: a room that fails at once tells none, and the other page shows what it has in its
 * place.
 */
export function showFigure(): void {
  document.documentElement.dataset["figure"] = "";
  const link = element("a", { target: "_blank", rel: "noopener" }, t`Open in the headwise lab`);
  addEventListener(ADDRESS_WRITTEN, () => (link.href = location.pathname + labAddress()));
  document.body.append(element("footer", { id: "figure-credit" }, link));
  let drawn = false;
  const tell = () => {
    if (card > 0) choose(document.querySelectorAll(CARDS)[card - 1]);
    drawn ||= document.querySelector("[data-room][aria-busy=false]:not(:has(> .failure:not([hidden])))") !== null;
    if (drawn) tellHeight(Math.ceil(document.documentElement.getBoundingClientRect().height));
  };
  new ResizeObserver(tell).observe(document.body);
  new MutationObserver(tell).observe(byId("main"), { subtree: true, attributeFilter: ["aria-busy"] });
}

/** The address in the lab of what is shown. */
function labAddress(): string {
  const { room, query } = parseAddress(location.hash);
  return formatAddress({ room, query: withCard(query, card > 0 ? card : undefined) });
}

/** Marks the only card to show, and what is around it in its room. */
function choose(chosen: Element | undefined): void {
  if (chosen) unfold(chosen);
  chosen?.setAttribute("data-chosen", "");
  const room = chosen?.closest(".room")?.parentElement;
  for (let around = chosen?.parentElement; around && around !== room; around = around.parentElement)
    around.setAttribute("data-around", "");
}

/** Any page may show the figure, so any may hear this. It learns nothing but the height. */
function tellHeight(height: number): void {
  parent.postMessage({ type: "headwise-height", height } satisfies HeightMessage, "*");
}
