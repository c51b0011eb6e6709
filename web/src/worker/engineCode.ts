import { formulaReading } from "../attention/formulaReading.js";
import type { AutoModule, EngineParts } from "../instance/parts.js";
import type { EngineFiles } from "../load/engineFiles.js";
import { loadPart } from "../load/files.js";
import { here, Late } from "../turn/late.js";
import * as makers from "../wasm/makers.js";
import * as runners from "../wasm/runners.js";

/**
 * The code of engines for a page's worker. That of WebAssembly is in its script. What `backend: "auto"` needs is in a file of
 * its own.
 */
export function engineCode(files: EngineFiles): EngineParts {
  const auto = new Late(async (operation) => {
    const code = await loadPart<AutoModule>(operation, files, "auto");
    code.formulaReading.code = formulaReading.code;
    return code;
  });
  return { layers: here(makers), operations: here(runners), placed: auto, auto };
}
