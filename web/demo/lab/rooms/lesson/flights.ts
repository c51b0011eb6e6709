// Numbers travel: a number starts where it comes from, and moves to its place. Only transforms and opacity change, so
// that the browser's compositor can do it without the page's thread.

const STEP_MS = 45;
const FLIGHT_MS = 620;
/** How many moves begin in a frame. The others are hidden until then, and wait longer for their turn in any case. */
const STARTS = 3;

/** What arrives in a scene, and where it comes from; each names the row that both stand in. */
interface Flight {
  readonly to: string;
  readonly from: string;
}

const FLIGHTS: Readonly<Record<number, readonly Flight[]>> = {
  1: [
    { to: "tr[data-token] [data-column=vector] > *", from: "th" },
    { to: ".amounts tr", from: "tr.asks th" },
  ],
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

/**
 * The class of what is hidden until it flies. An attribute of the diagram would do the same, but then the browser styles all
 * cells of the diagram anew.
 */
const HIDDEN = "arriving";

/** Whether the visitor wants to see things move. */
export function mayFly(): boolean {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/** Hides what arrives in a part of the diagram until `fly`. */
export function hideArrivals(part: Element, scene: number): void {
  const arrivals = [".picture-of-scene > *", ...(FLIGHTS[scene] ?? []).map(({ to }) => to)];
  for (const node of part.querySelectorAll(arrivals.join())) node.classList.add(HIDDEN);
}

/** Whether something is hidden that will fly. */
export function isFlying(diagram: Element): boolean {
  return diagram.querySelector(`.${HIDDEN}`) !== null;
}

/** Shows what was hidden. The numbers of a scene come from where the scene before has shown them; without one, none moves. */
export function fly(diagram: HTMLElement, scene: number | undefined): void {
  const moves = (FLIGHTS[scene ?? 0] ?? []).flatMap((flight, group) => movesOf(diagram, flight, group));
  const later = new Set(moves.map(({ node }) => node));
  for (const node of diagram.querySelectorAll(`.${HIDDEN}`)) if (!later.has(node)) node.classList.remove(HIDDEN);
  if (scene === undefined) return;
  for (const rise of diagram.querySelectorAll(".rise, .journey .gap.now, .looks tbody"))
    rise.animate([{ opacity: 0 }, { opacity: 1 }], { duration: FLIGHT_MS, delay: FLIGHT_MS / 2, fill: "backwards" });
  requestAnimationFrame(() => start(moves, performance.now())); // to read where all stand is enough for one frame
}

/** Begins some moves in each frame: for the page's thread, the beginning of a move is its dearest part. */
function start(moves: readonly Move[], begin: number): void {
  for (const move of moves.slice(0, STARTS)) {
    move.node.classList.remove(HIDDEN);
    move.node.animate(
      [
        { transform: move.start, opacity: 0 },
        { opacity: 1, offset: 0.3 },
        { transform: "none", opacity: 1 },
      ],
      {
        duration: FLIGHT_MS,
        delay: move.delay - (performance.now() - begin),
        easing: "cubic-bezier(0.2, 0.7, 0.2, 1)",
        fill: "backwards",
      },
    );
  }
  if (moves.length > STARTS) requestAnimationFrame(() => start(moves.slice(STARTS), begin));
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
