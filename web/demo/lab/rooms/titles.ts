import { t } from "../../texts/t.js";

/** What each room is called. */
export const TITLES = {
  lesson: t`Lesson`,
  sentence: t`Sentence`,
  matrix: t`Matrix`,
  positions: t`Positions`,
  masks: t`Masks`,
  flash: t`Flash`,
  train: t`Train`,
  generate: t`Generate`,
  tensors: t`Your model`,
  device: t`Your device`,
  bench: t`Bench`,
} as const;
