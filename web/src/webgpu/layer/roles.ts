/** The projections that make queries, keys and values. */
export type Role = "query" | "key" | "value";
export type OfRoles<T> = Readonly<Record<Role, T>>;
export const ROLES: readonly Role[] = ["query", "key", "value"];

/** Splits a list into runs. `joins` says whether an element joins the run before it. */
export function runsOf(roles: readonly Role[], joins: (run: readonly Role[], role: Role) => boolean): Role[][] {
  const runs: Role[][] = [];
  for (const role of roles) {
    const last = runs.at(-1);
    if (last && joins(last, role)) last.push(role);
    else runs.push([role]);
  }
  return runs;
}
