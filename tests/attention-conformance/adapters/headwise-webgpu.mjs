import { openHeadwise } from "./headwise.mjs";

export const name = "headwise WebGPU";
export const packages = ["headwise"];
export const needs = "WebGPU";
export const open = (tools) => openHeadwise({ backend: "webgpu" }, tools);
