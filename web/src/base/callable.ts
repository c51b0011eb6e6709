export type AnyFunction = (...parameters: never[]) => unknown;

/** Whether a value can be called. A class cannot, nor can a revoked proxy. No code of the caller runs. */
export function isCallable(value: unknown): value is AnyFunction {
  if (typeof value !== "function") return false;
  try {
    Array.isArray(value); // throws for a revoked proxy
    return !Function.prototype.toString.call(value).startsWith("class");
  } catch {
    return false;
  }
}

/** Whether `new` can make objects of a value. Nothing is made of it. */
export function isConstructor(value: unknown): boolean {
  if (typeof value !== "function") return false;
  try {
    Reflect.construct(Object, [], value);
    return true;
  } catch {
    return false;
  }
}
