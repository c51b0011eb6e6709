import { useState } from "react";

import { sameValue } from "./sameValue.js";

/** This value, or an equal one of an earlier render. So an effect that depends on it runs only after a real change. */
export function useSameValue<T>(value: T): T {
  const [kept, keep] = useState(value);
  if (sameValue(kept, value)) return kept;
  keep(value); // React renders the component again at once
  return value;
}
