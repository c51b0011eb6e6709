"use client";

import { createAttention } from "headwise";
import { useEffect } from "react";

import { report } from "../compute.js";

export default function Page() {
  useEffect(() => report(createAttention({ threads: 2, backend: "wasm" })), []);
  return <p>headwise in Next</p>;
}
