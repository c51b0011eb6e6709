// Numbers travel: a number starts where it comes from, and moves to its place. Only transforms and opacity change, so
// that the browser's compositor can do it without the page's thread.

const STEP_MS = 45;
const FLIGHT_MS = 620;

/** What arrives in a scene, and where it comes from; each names the row that both stand in. */
interface Flight {
  readonly to: string;
  readonly from: string;
}

const FLIGHTS: Readonly<Record<number, readonly Flight[]>> = {
  2: [
    { to: "tr[data-token] [data-column=key] > *", from: "[data-column=vector]" },
    { to: ".query .strip", from: "tr.asks [data-column=vector]" },
    { to: "tr[data-token] [data-column=score] > *", from: "[data-column=key]" },
  ],
  3: [{ to: "tr[data-token] [data-column=weight] > b", from: "[data-column=score]" }],
  4: [
    { to: "tr[data-token] [data-column=value] > *", from: "[data-column=vector]" },
    { to: ".mixed .strip", from: "tr.asks [data-column=value]" },
    { to: ".amounts tr", from: "[data-column=value]" },
  ],
  5: [{ to: ".mover .is", from: "" }],
};

/** Hides what arrives in a scene until `fly`. Returns whether anything may move. */
export function expectArrivals(diagram: HTMLElement, scene: number): boolean {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return false;
  diagram.dataset["arriving"] = String(scene);
  return true;
}

/** Lets the numbers of a scene come from where the scene before has shown them. */
export function fly(diagram: HTMLElement, scene: number): void {
  if (diagram.dataset["arriving"] !== String(scene)) return;
  const moves = (FLIGHTS[scene] ?? []).flatMap((flight, group) => movesOf(diagram, flight, group));
  delete diagram.dataset["arriving"];
  for (const { node, start, delay } of moves)
    node.animate(
      [
        { transform: start, opacity: 0 },
        { opacity: 1, offset: 0.3 },
        { transform: "none", opacity: 1 },
      ],
      {
        duration: FLIGHT_MS,
        delay,
        easing: "cubic-bezier(0.2, 0.7, 0.2, 1)",
        fill: "backwards",
      },
    );
  for (const rise of diagram.querySelectorAll(".rise, .journey .gap.now, .looks tbody tr"))
    rise.animate([{ opacity: 0 }, { opacity: 1 }], { duration: FLIGHT_MS, delay: FLIGHT_MS / 2, fill: "backwards" });
}

interface Move {
  readonly node: Element;
  readonly start: string;
  readonly delay: number;
}

/** All boxes are read before anything moves. */
function movesOf(diagram: Element, { to, from }: Flight, group: number): Move[] {
  return [...diagram.querySelectorAll(to)].map((node, at) => {
    const delay = group * FLIGHT_MS * 0.6 + at * STEP_MS;
    if (!from) return { node, delay, start: "translate(var(--dx), var(--dy))" };
    const source = node.closest("tr[data-token]")?.querySelector(from) ?? diagram.querySelector(from);
    const [a, b] = [source!.getBoundingClientRect(), node.getBoundingClientRect()];
    return { node, delay, start: `translate(${(a.left - b.left).toFixed(0)}px, ${(a.top - b.top).toFixed(0)}px)` };
  });
}
