import { OptionError, ShapeError, UnsupportedError } from "headwise";
import { hub, NetworkError, openModel, type OpenedFiles } from "headwise/models";

import { HUB_HOST, MODEL_CACHE, type HubModel } from "./hubModels.js";
import { TroubleError, type HubTrouble } from "./trouble.js";

/** What the hub answers to a name that it does not have, or that not everybody may read. */
const UNKNOWN = [401, 403, 404];

/** The files of a model on the hub, and why they did not come. */
export class HubFiles {
  readonly #model: HubModel;
  #isForbidden = false;

  constructor(model: HubModel) {
    this.#model = model;
    // The hub may send weights from another server. If the page's policy forbids that one, only this event tells.
    addEventListener("securitypolicyviolation", () => (this.#isForbidden = true));
  }

  /** Reads what the model is: its configurations, and the beginning of its weights. */
  open(): Promise<OpenedFiles> {
    return openModel(hub(this.#model.name), { cache: MODEL_CACHE });
  }

  /** The same, with errors that say what the visitor can do. */
  async explained<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      const what = this.#fault(error);
      if (!what) throw error;
      const { message: why } = error as Error;
      throw new TroubleError({ kind: "hub", what, host: HUB_HOST, name: this.#model.name, why });
    }
  }

  /** undefined: it has nothing to do with the hub or with this model's files. */
  #fault(error: unknown): HubTrouble["what"] | undefined {
    if (UnsupportedError.is(error) || OptionError.is(error) || ShapeError.is(error)) return "model";
    if (!NetworkError.is(error)) return undefined;
    if (this.#isForbidden) return "policy";
    return UNKNOWN.includes(error.status ?? 0) ? "name" : "network";
  }
}
