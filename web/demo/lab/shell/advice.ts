/** The hint of an error without its link to the installed package: who visits the lab has no such folder. */
export function adviceOf(error: unknown): string | undefined {
  const { hint } = (error ?? {}) as { readonly hint?: unknown };
  if (typeof hint !== "string") return undefined;
  return hint.replace(/\s*See node_modules\S*/g, "").trim() || undefined;
}
