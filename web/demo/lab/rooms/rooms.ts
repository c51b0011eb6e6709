import type { Room } from "../shell/room.js";
import { t } from "../../texts/t.js";
import { TITLES } from "./titles.js";

/** What the navigation shows of a room before the room's code is loaded. */
export interface Door {
  readonly id: string;
  readonly title: string;
  /** A sentence about the room. */
  readonly lede: string;
  /** What follows it for those who have a keyboard. */
  readonly keys?: string;
  /** What the door lies behind: another room, or the pill that names the engine. Absent: it is in the navigation. */
  readonly behind?: "masks" | "engine";
  load(): Promise<{ readonly room: Room }>;
}

/** All rooms, in the order of the visit. */
export const DOORS: readonly Door[] = [
  {
    id: "lesson",
    title: TITLES.lesson,
    lede: t`Seven scenes, three minutes, with a sentence of yours. Scroll.`,
    keys: t`Keys: → and ←.`,
    load: () => import("./lesson/room.js"),
  },
  {
    id: "sentence",
    title: TITLES.sentence,
    lede: t`A pretrained transformer reads your sentence, and shows what each word looks at.`,
    load: () => import("./sentence/room.js"),
  },
  {
    id: "matrix",
    title: TITLES.matrix,
    lede: t`Attention on numbers that you can follow. Change one, and see what it changes on its way to the output.`,
    load: () => import("./matrix/room.js"),
  },
  {
    id: "positions",
    title: TITLES.positions,
    lede: t`The same word twice: can attention tell one from the other? Choose how a model learns where words stand.`,
    load: () => import("./positions/room.js"),
  },
  {
    id: "masks",
    title: TITLES.masks,
    lede: t`Build the attention of GPT, Mistral, BLOOM or Gemma from its rules, or write rules of your own, and see which pairs are left and what need not be computed.`,
    load: () => import("./masks/room.js"),
  },
  {
    id: "flash",
    title: TITLES.flash,
    lede: t`How attention over long sequences fits in a few kilobytes: tile by tile, with a running maximum and a running sum.`,
    behind: "masks",
    load: () => import("./flash/room.js"),
  },
  {
    id: "train",
    title: TITLES.train,
    lede: t`Two attention layers learn to repeat what they have read. Watch their heads form, switch one off, and go back to the step where it happened.`,
    load: () => import("./train/room.js"),
  },
  {
    id: "generate",
    title: TITLES.generate,
    lede: t`A small decoder continues what you type. See what it expects next, what every head looks at, and what its cache of keys and values keeps.`,
    load: () => import("./generate/room.js"),
  },
  {
    id: "tensors",
    title: TITLES.tensors,
    lede: t`Drop a whole model, or name one; or drop the weights of a layer, or queries, keys and values; and see what the heads do. Your files stay in this page.`,
    load: () => import("./tensors/room.js"),
  },
  {
    id: "device",
    title: TITLES.device,
    lede: t`How fast attention is on this machine, in this browser: every engine, checked before it is timed.`,
    behind: "engine",
    load: () => import("./device/room.js"),
  },
  {
    id: "bench",
    title: TITLES.bench,
    lede: t`Times that others have measured, side by side: every shape, engine and device of the files that you drop.`,
    behind: "engine",
    load: () => import("./bench/room.js"),
  },
];

/** The doors of the navigation. */
export const NAVIGATION = DOORS.filter(({ behind }) => behind === undefined);

/** The rooms behind the pill that names the engine. */
export const ENGINE_DOORS = DOORS.filter(({ behind }) => behind === "engine");

/** The rooms that share a place with this one, and this one; only itself if it stands alone. */
export function neighbours(door: Door): readonly Door[] {
  const place = ({ id, behind }: Door) => behind ?? id;
  return DOORS.filter((other) => place(other) === place(door));
}

/** The room after this one. The visit does not lead through the rooms of the engine. */
export function nextRoom(door: Door): Door {
  const way = door.behind === "engine" ? ENGINE_DOORS : DOORS.filter(({ behind }) => behind !== "engine");
  return way[(way.indexOf(door) + 1) % way.length]!;
}
