"use client"; // for frameworks with server components

/**
 * `headwise/react`: a hook that computes attention, and the elements of `headwise/viz` as components. For React 18 and 19.
 * The import does nothing, also on a server.
 *
 * @module
 */
export { AttentionProvider, type AttentionProviderProps } from "../react/attentionProvider.js";
export { AttentionHeads, AttentionMap, type AttentionHeadsProps, type AttentionMapProps } from "../react/elements.js";
export { type CreateInstance } from "../react/sharedInstance.js";
export { useAttention, type UseAttentionOptions, type UseAttentionResult } from "../react/useAttention.js";
