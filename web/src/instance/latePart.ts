import { AssetError } from "../base/errors.js";
import { thrownText } from "../base/thrown.js";
import { inTime } from "../load/inTime.js";
import { along, Late } from "../turn/late.js";

const HINT =
  "It is a file beside the package's script, or beside the script that a bundler made. Check the network, and that the " +
  "server still has all files of this build. Some browsers try again only after the page was loaded again.";

export const formulas = /* @__PURE__ */ late("formulas", async () => {
  const code = await import("./parts/formulas.js");
  code.bringFormulas();
  return code;
});

export const plans = /* @__PURE__ */ along(
  /* @__PURE__ */ late("plans", () => import("./parts/plans.js")),
  formulas,
);

export const steps = /* @__PURE__ */ along(
  /* @__PURE__ */ late("steps", () => import("./parts/steps.js")),
  formulas,
);

/** A part that is loaded when a call first needs it: a file beside this one, or what a bundler makes of it. */
export function late<T>(name: string, load: () => Promise<T>): Late<T> {
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
