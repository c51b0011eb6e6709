import type { ExperimentOrder, ExperimentResult, Swap } from "../../engine/experimentProtocol.js";
import { placeName, type HeadPlace } from "../../shell/headPlace.js";
import type { Settings } from "./settings.js";

/** With these the chances that are said are the model's own, and the bars show the same. */
const TAKING = { temperature: 1, topK: 40 } as const;

const SONG = "One day Anna met Leo at the beach. Anna sang: “Sun moon star rain.” Leo sang: “Sun moon";
const LIST = "Tom and Mary lived near the farm. Tom said to Mary: “Please buy milk, rice, tea and salt.” At the market Mary bought milk,"; // oxfmt-ignore
const QUESTION = "Rosa and Hugo lived near the library. Rosa had a grey scarf. Hugo had green socks. Rosa put the grey scarf under the chair. Hugo put the green socks under the bench. The teacher asked: “Where is the grey scarf?” “It is under the"; // oxfmt-ignore

/** The latest place of a word gets another one. */
function swapped(text: string, from: string, to: string): Swap {
  const at = text.lastIndexOf(from);
  return { from, to, text: text.slice(0, at) + to + text.slice(at + from.length) };
}

export const EXPERIMENTS = {
  swap: { kind: "swap", text: SONG, taking: TAKING, swap: swapped(SONG, "moon", "star"), control: swapped(SONG, "beach", "park") }, // oxfmt-ignore
  copying: { kind: "copying", text: LIST, taking: TAKING },
  weight: { kind: "weight", text: QUESTION, taking: TAKING },
} as const satisfies Readonly<Record<ExperimentOrder["kind"], ExperimentOrder>>;

/** The settings that show what an experiment has found: its text, the heads that are off, and the head that colours the text. */
export function settingsOf(result: ExperimentResult): Partial<Settings> {
  switch (result.kind) {
    case "swap":
      return { ...TAKING, begin: EXPERIMENTS.swap.swap.text, off: "", head: placeName(result.head) };
    case "copying":
      return { ...TAKING, begin: LIST, off: namesOf(result.heads), head: placeName(result.heads[0]!) };
    case "weight":
      return { ...TAKING, begin: QUESTION, off: namesOf([result.needed]), head: placeName(result.spared) };
    default:
      return result satisfies never;
  }
}

function namesOf(heads: readonly HeadPlace[]): string {
  return heads.map(placeName).sort().join(",");
}
