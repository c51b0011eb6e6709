import { AssetError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import { inTime } from "../load/inTime.js";
import { along, Late } from "../turn/late.js";
import type { Parts } from "./parts.js";

const HINT =
  "It is a file beside the package's script, or beside the script that a bundler made. Check the network, and that the " +
  "server still has all files of this build. Some browsers try again only after the page was loaded again.";

const formulas = /* @__PURE__ */ late("formulas", async () => {
  const code = await import("./parts/formulas.js");
  code.bringFormulas();
  return code;
});

const operations = /* @__PURE__ */ late("operations", () => import("./parts/operations.js"));

/** Parts that are loaded when a call first needs them: files beside this one, or what a bundler makes of them. */
export const lateParts: Parts = {
  auto: /* @__PURE__ */ late("auto", () => import("./parts/auto.js")),
  formulas,
  operations,
  placed: operations,
  plans: /* @__PURE__ */ along(
    /* @__PURE__ */ late("plans", () => import("./parts/plans.js")),
    formulas,
  ),
  steps: /* @__PURE__ */ along(
    /* @__PURE__ */ late("steps", () => import("./parts/steps.js")),
    formulas,
  ),
};

function late<T>(name: string, load: () => Promise<T>): Late<T> {
  return new Late(async (operation) => {
    try {
      return await inTime(operation, load(), `the part "${name}" of headwise was not loaded`, HINT);
    } catch (cause) {
      if (AssetError.is(cause)) throw cause;
      const what = `${operation}: the part "${name}" of headwise was not loaded`;
      throw new AssetError(`${what}: ${thrownText(cause)}`, { cause, hint: HINT });
    }
  });
}
