import { openHeadwise } from "./headwise.mjs";

export const name = "headwise wasm";
export const packages = ["headwise"];
export const open = (tools) => openHeadwise({ backend: "wasm", threads: 1 }, tools);
