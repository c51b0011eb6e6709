import { choice, flag, number, text, type Values } from "../../shell/field.js";

/** At this value and above, a window has no limit. */
export const UNBOUNDED = 48;
/** At this value, there is no sink. */
export const NO_SINK = -6;
/** At this value, no key is padding: there are never more keys. */
export const ALL_KEYS = 48;

/** The room keeps this much of a text. headwise refuses formulas that are a bit shorter already, and says so. */
export const LONGEST_FORMULA = 5000;

/** The first values are the rules of Mistral 7B: they show a window, a diagonal and shared heads at once. */
export const fields = {
  queries: number(24, { min: 1, max: 48 }),
  keys: number(24, { min: 1, max: ALL_KEYS }),
  causal: choice("lower-right", ["off", "lower-right", "upper-left"]),
  left: number(7, { min: 0, max: UNBOUNDED }),
  right: number(UNBOUNDED, { min: 0, max: UNBOUNDED }),
  keyLength: number(ALL_KEYS, { min: 0, max: ALL_KEYS }),
  excludeSelf: flag(false),
  alibi: flag(false),
  softcap: number(0, { min: 0, max: 50, step: 0.5 }),
  sink: number(NO_SINK, { min: NO_SINK, max: 6, step: 0.5 }),
  heads: number(8, { min: 1, max: 8 }),
  kvHeads: number(2, { min: 1, max: 8 }),
  emptyRows: choice("zero", ["zero", "nan", "uniform"]),
  sharpness: number(1, { min: 0, max: 4, step: 0.1 }),
  /** Formulas are computed instead of the options that they can say (`SAID_BY_FORMULAS`). */
  rules: choice("options", ["options", "formulas"]),
  visible: text("", LONGEST_FORMULA),
  score: text("", LONGEST_FORMULA),
  parameters: text("", LONGEST_FORMULA),
};
export type Settings = Values<typeof fields>;

/** The options that formulas can say, all off. */
export const SAID_BY_FORMULAS = {
  causal: "off",
  left: UNBOUNDED,
  right: UNBOUNDED,
  keyLength: ALL_KEYS,
  excludeSelf: false,
  alibi: false,
  softcap: 0,
} as const;

/** The settings, with the options off that formulas say instead. */
export function inForce(settings: Settings): Settings {
  return settings.rules === "formulas" ? { ...settings, ...SAID_BY_FORMULAS } : settings;
}
