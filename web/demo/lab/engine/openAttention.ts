import { createAttention, type Attention, type CreateOptions } from "headwise";

import { adviceOf } from "../shell/advice.js";

/** Opens headwise with the visitor's choice; where that cannot be had, the error says where to choose again. */
export async function openAttention(choice: CreateOptions): Promise<Attention> {
  try {
    return await createAttention(choice);
  } catch (error) {
    if (choice.backend === undefined || choice.backend === "auto") throw error;
    const again = "At the top of the page, under “no engine”, “Automatic” takes what this device has.";
    const hint = [adviceOf(error), again].filter(Boolean).join(" ");
    throw Object.assign(new Error(error instanceof Error ? error.message : String(error)), { hint });
  }
}
