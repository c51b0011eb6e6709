import { choice, flag, text } from "../../shell/field.js";
import type { Values } from "../../shell/field.js";

export const fields = {
  /** The address of a file to fetch. */
  file: text("", 2000),
  /** The shape that is shown; all of them without one. */
  shape: text("", 200),
  show: choice("time", ["time", "ratio"]),
  /** The engine that the others are divided by. */
  to: text("", 700),
  by: choice("engine", ["engine", "device", "time"]),
  log: flag(true),
};

export type Settings = Values<typeof fields>;
