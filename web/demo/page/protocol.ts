import type { Report } from "headwise";

import type { Encoding } from "../model/encoder.js";

/** What the page asks its worker. */
export interface EncodeRequest {
  readonly id: number;
  readonly texts: readonly string[];
  readonly positions: boolean;
}

/** What the worker says. */
export type WorkerMessage =
  | { readonly kind: "progress"; readonly loaded: number; readonly total: number }
  | { readonly kind: "ready"; readonly report: Report }
  | {
      readonly kind: "encoded";
      readonly id: number;
      readonly encodings: readonly Encoding[];
      readonly milliseconds: number;
    }
  | { readonly kind: "failed"; readonly message: string };
