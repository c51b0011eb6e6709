/** The properties of T as options: each may be absent or undefined. */
export type Optional<T> = { readonly [Name in keyof T]?: T[Name] | undefined };
