import { isObject, tagOf } from "../foreign/describe.js";
import type { Dtype } from "../tensor/tensor.js";

/** The arrays that hold each dtype. */
const ARRAYS_OF: Readonly<Record<Dtype, readonly string[]>> = {
  float32: ["Float32Array"],
  float16: ["Uint16Array", "Float16Array"],
  bool: ["Uint8Array"],
  int32: ["Int32Array"],
};

/** What holds numbers of these dtypes: "Float32Array or Uint16Array or Float16Array". */
export function arraysOf(dtypes: readonly Dtype[]): string {
  return dtypes.flatMap((dtype) => ARRAYS_OF[dtype]).join(" or ");
}

/** How to make the `data` of a tensor of these dtypes of what was given instead. */
export function dataHint(argument: string, given: unknown, dtypes: readonly Dtype[]): string | undefined {
  return unlessHostile(() => {
    if (typeof given === "function")
      return "Here data is a method: { data: await x.data(), shape: x.shape } is a tensor.";
    return `${arrayFrom("data", given, dtypes)} makes one${meaning(argument, dtypes)}.`;
  });
}

/** How to make a tensor of these dtypes of what was given instead. */
export function tensorHint(argument: string, given: unknown, dtypes: readonly Dtype[]): string | undefined {
  return unlessHostile(() => {
    // tensors of ONNX Runtime and of transformers.js
    if (isObject(given) && "data" in given && "dims" in given)
      return "Its shape is called dims: { data: x.data, shape: x.dims } is a tensor.";
    const data = dtypes.some((dtype) => ARRAYS_OF[dtype].includes(tagOf(given)))
      ? "array"
      : arrayFrom("values", given, dtypes);
    return `tensor(${data}, shape) makes one${meaning(argument, dtypes)}.`;
  });
}

/** What to do with a tensor of `dtype` where it must be one of `dtypes`. */
export function dtypeHint(argument: string, dtype: Dtype, dtypes: readonly Dtype[]): string | undefined {
  if (argument === "mask" && dtype.startsWith("float"))
    return "A mask of numbers, which are added to the scores, is the option `bias`.";
  if (argument === "bias" && dtype === "bool") return "A mask of booleans, true = may attend, is the option `mask`.";
  if (dtype === "float16") return undefined; // its array may hold bits
  return `${arrayFrom("data", undefined, dtypes)} converts it${meaning(argument, dtypes)}.`;
}

/** The call that makes an array, of the first of `dtypes` that suits it, of a list called `name`. */
function arrayFrom(name: string, given: unknown, dtypes: readonly Dtype[]): string {
  const { leaf, depth } = firstLeaf(given);
  const dtype = typeof leaf === "boolean" && dtypes.includes("bool") ? "bool" : dtypes[0]!;
  const converts = dtype === "bool" || typeof leaf === "bigint" || tagOf(given).startsWith("Big");
  const values = depth > 1 ? `${name}.flat(Infinity)` : name;
  return `${ARRAYS_OF[dtype][0]}.from(${values}${converts ? ", Number" : ""})`;
}

const DEEPEST = 8;

/** The first element of a list in lists, and how many lists it lies in. */
function firstLeaf(given: unknown): { leaf: unknown; depth: number } {
  let depth = 0;
  while (Array.isArray(given) && depth < DEEPEST) {
    given = given[0];
    depth += 1;
  }
  return { leaf: given, depth };
}

/** Of a mask, since other packages have it the other way round. */
function meaning(argument: string, dtypes: readonly Dtype[]): string {
  return argument === "mask" && dtypes[0] === "bool" ? ": 1 (true) = may attend, 0 (false) = hidden" : "";
}

/** A hint reads what the caller gave, which may throw; then there is none. */
function unlessHostile(hint: () => string): string | undefined {
  try {
    return hint();
  } catch {
    return undefined;
  }
}
