import { tagOf } from "../base/describe.js";
import type { Dtype } from "../tensor/tensor.js";

/** The classes of arrays that hold each dtype. */
const ARRAYS_OF: Readonly<Record<Dtype, readonly string[]>> = {
  float32: ["Float32Array"],
  float16: ["Uint16Array", "Float16Array"],
  bfloat16: ["Uint16Array"],
  int8: ["Int8Array"],
  bool: ["Uint8Array"],
  int32: ["Int32Array"],
};

/** The classes of arrays for these dtypes, as text: "Float32Array or Uint16Array or Float16Array". */
export function arraysOf(dtypes: readonly Dtype[]): string {
  return [...new Set(dtypes.flatMap((dtype) => ARRAYS_OF[dtype]))].join(" or ");
}

/** A hint for a wrong `data`: how to make an array of these dtypes from the value that was given. */
export function dataHint(argument: string, given: unknown, dtypes: readonly Dtype[]): string | undefined {
  return unlessHostile(() => {
    if (typeof given === "function")
      return "Here data is a method: { data: await x.data(), shape: x.shape } is a tensor.";
    return `${arrayFrom("data", given, dtypes)} makes one${meaning(argument, dtypes)}.`;
  });
}

/** A hint for a value that is no tensor: how to make a tensor of these dtypes from it. */
export function tensorHint(argument: string, given: unknown, dtypes: readonly Dtype[]): string | undefined {
  return unlessHostile(() => {
    if ((argument === "key" || argument === "value") && tagOf(given) === "Object")
      return "query, key and value come before the options.";
    const data = dtypes.some((dtype) => ARRAYS_OF[dtype].includes(tagOf(given)))
      ? "array"
      : arrayFrom("values", given, dtypes);
    return `tensor(${data}, shape) makes one${meaning(argument, dtypes)}.`;
  });
}

/** A hint for a tensor of `dtype` if the argument must have one of `dtypes`. */
export function dtypeHint(argument: string, dtype: Dtype, dtypes: readonly Dtype[]): string | undefined {
  if (argument === "mask" && dtype.startsWith("float"))
    return "A mask of numbers, which are added to the scores, is the option `bias`.";
  if (argument === "bias" && dtype === "bool") return "A mask of booleans, true = may attend, is the option `mask`.";
  if (dtype === "bfloat16" && dtypes.includes("float32"))
    return "bfloat16 is a dtype of weights. toFloat32(tensor) converts it, exactly.";
  // a Uint16Array may hold bits, and a conversion of bits would be wrong
  if (ARRAYS_OF[dtype].includes("Uint16Array")) return undefined;
  return `${arrayFrom("data", undefined, dtypes)} converts it${meaning(argument, dtypes)}.`;
}

/** The call that makes an array of the first of `dtypes` from a list called `name`. */
function arrayFrom(name: string, given: unknown, dtypes: readonly Dtype[]): string {
  const [dtype] = dtypes as readonly [Dtype];
  const converts = dtype === "bool" || tagOf(given).startsWith("Big");
  return `${ARRAYS_OF[dtype][0]}.from(${name}${converts ? ", Number" : ""})`;
}

/** Says what true means in a mask, because some packages use the opposite. */
function meaning(argument: string, dtypes: readonly Dtype[]): string {
  return argument === "mask" && dtypes[0] === "bool" ? ": 1 (true) = may attend, 0 (false) = hidden" : "";
}

/** Writing a hint reads the caller's value, and that may throw. Then there is no hint. */
function unlessHostile(hint: () => string): string | undefined {
  try {
    return hint();
  } catch {
    return undefined;
  }
}
