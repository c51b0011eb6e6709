import { UnsupportedError } from "../base/errors.js";
import { refuse, type Json } from "./configField.js";
import type { ModelFiles } from "./modelFiles.js";

const NAMES: Readonly<Record<string, string>> = { gptq: "GPTQ", awq: "AWQ", bitsandbytes: "bitsandbytes", mlx: "MLX" };

const HINT =
  "Download the model that it was made from, with weights in float32, float16 or bfloat16. The precision " +
  '"int8" rounds them while they are loaded.';

/** Fields of config.json in which programs say that they have quantised the weights. */
const FIELDS = ["quantization_config", "quantization"] as const;

/** Files that older programs add, and endings of tensors. */
const FILES: Readonly<Record<string, string>> = { "quantize_config.json": "GPTQ", "quant_config.json": "AWQ" };
const TENSORS: readonly (readonly [ending: string, by: string])[] = [
  [".qweight", "GPTQ or AWQ"],
  [".SCB", "bitsandbytes"],
  [".absmax", "bitsandbytes"],
];

/**
 * Refuses quantised weights, and says by which program they were quantised.
 *
 * @param tensors - The names of all tensors.
 */
export function refuseQuantised(operation: string, json: Json, files: ModelFiles, tensors: readonly string[]): void {
  for (const field of FIELDS)
    if (json.value(field) !== undefined)
      throw new UnsupportedError(
        `${refuse(json, field, "be absent").message}: weights that ${programOf(json)} has quantised are not read`,
        { hint: HINT },
      );
  const file = Object.keys(FILES).find((name) => files.has(name));
  const ending = TENSORS.find(([end]) => tensors.some((name) => name.endsWith(end)));
  const isMlx = tensors.some((name) => name.endsWith(".biases")) && tensors.some((name) => name.endsWith(".scales"));
  const by = ending?.[1] ?? (isMlx ? "MLX" : undefined);
  if (by ?? file)
    throw new UnsupportedError(
      `${operation}: ${by ? "tensors" : file} show that the weights are quantised by ${by ?? FILES[file!]}, ` +
        "which are not read",
      { hint: HINT },
    );
}

function programOf(json: Json): string {
  if (json.value("quantization") !== undefined) return NAMES.mlx!;
  const settings = json.part("quantization_config")!;
  const method = settings.value("quant_method");
  if (typeof method === "string") return NAMES[method] ?? method;
  const isOfBits = settings.value("load_in_4bit") !== undefined || settings.value("load_in_8bit") !== undefined;
  return isOfBits ? NAMES.bitsandbytes! : "another program";
}
