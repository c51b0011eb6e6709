import { useEffect } from "react";

import { report } from "../compute.js";

export function Computing({ createAttention }) {
  useEffect(() => report(createAttention({ threads: 2, backend: "wasm" })), [createAttention]);
  return <p>headwise in Next</p>;
}
