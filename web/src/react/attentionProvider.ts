import { createContext, createElement, useState, type ReactElement, type ReactNode } from "react";

import { SharedInstance, type CreateInstance } from "./sharedInstance.js";

/** Loads the engine only when a component needs it, and never on a server. */
const createUsual: CreateInstance = async () => (await import("headwise")).createAttention();

/** The instance of the components that are in no `AttentionProvider`. */
const usual = /* @__PURE__ */ new SharedInstance(createUsual);

/** @internal */
export const InstanceContext = /* @__PURE__ */ createContext(usual);

/** Properties of `AttentionProvider`. */
export interface AttentionProviderProps {
  /**
   * Makes the instance: `createAttention` of any entry, with your options. It is read when the provider is mounted, and
   * called when a component first needs the instance. The provider disposes what it gives. Default: `createAttention()` of
   * `headwise`.
   */
  readonly create?: CreateInstance | undefined;
  readonly children?: ReactNode;
}

/** Gives the components in it an instance of their own, which they share. Without a provider all share one. */
export function AttentionProvider({ create = createUsual, children }: AttentionProviderProps): ReactElement {
  const [shared] = useState(() => new SharedInstance(create));
  return createElement(InstanceContext.Provider, { value: shared }, children);
}
