import { isObject } from "./describe.js";

/**
 * The text of a thrown value for messages: `TypeError: …`. Any value can be thrown, and this function throws for none.
 */
export function thrownText(thrown: unknown): string {
  if (typeof thrown === "function") return "a function";
  if (!isObject(thrown)) return String(thrown);
  try {
    const { name, message } = thrown as Partial<Record<"name" | "message", unknown>>;
    const parts = [name, message].filter((part) => typeof part === "string" && part !== "");
    return parts.join(": ") || "an object that is no error";
  } catch {
    return "an object that cannot be read";
  }
}
