// Types only: after `import type {} from "headwise/viz/react"` React's JSX accepts the elements.

import type { DetailedHTMLProps, HTMLAttributes } from "react";

import type { AttentionHeads, AttentionMap, ElementProps } from "./viz.js";

type Props<Name extends keyof ElementProps, Element> = ElementProps[Name] &
  Omit<DetailedHTMLProps<HTMLAttributes<Element>, Element>, keyof ElementProps[Name]>;

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "attention-map": Props<"attention-map", AttentionMap>;
      "attention-heads": Props<"attention-heads", AttentionHeads>;
    }
  }
}
