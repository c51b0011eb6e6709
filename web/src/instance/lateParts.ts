import { Late } from "../call/late.js";
import { AssetError } from "../errors/errors.js";
import { thrownText } from "../foreign/thrown.js";
import type { Parts } from "./parts.js";

/** Parts that are loaded when a call first needs them: files beside this one, or what a bundler makes of them. */
export const lateParts: Parts = /* @__PURE__ */ makeParts();

function makeParts(): Parts {
  return {
    auto: late("auto", () => import("./parts/auto.js")),
    operations: late("operations", () => import("./parts/operations.js")),
    plans: late("plans", () => import("./parts/plans.js")),
  };
}

function late<T>(name: string, load: () => Promise<T>): Late<T> {
  return new Late(async (operation) => {
    try {
      return await load();
    } catch (cause) {
      throw notLoaded(operation, name, cause);
    }
  });
}

function notLoaded(operation: string, name: string, cause: unknown): AssetError {
  return new AssetError(`${operation}: the part "${name}" of headwise was not loaded: ${thrownText(cause)}`, {
    cause,
    hint:
      "It is a file beside the package's script, or beside the script that a bundler made. Check the network, and that the " +
      "server still has all files of this build. Some browsers try again only after the page was loaded again.",
  });
}
