import { createAttention, type Attention, type CreateOptions } from "headwise";

import { adviceOf } from "../shell/advice.js";

/** Opens headwise with the visitor's choice. If that does not run here, it throws a ChoiceError. */
export async function openAttention(choice: CreateOptions): Promise<Attention> {
  try {
    return await createAttention(choice);
  } catch (error) {
    if (choice.backend === undefined || choice.backend === "auto") throw error;
    throw new ChoiceError(error);
  }
}

/** The engine that the visitor has chosen does not run here. The page says where another one is chosen. */
export class ChoiceError extends Error {
  override readonly name = "ChoiceError";
  readonly hint: string | undefined;

  constructor(error: unknown) {
    super(error instanceof Error ? error.message : String(error));
    this.hint = adviceOf(error);
  }
}
