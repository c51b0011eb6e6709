// Conversions of float16 (IEEE 754 binary16) and bfloat16 (the upper half of a float32). A library for them would be a tenth
// of the package. A test compares the code for float16 with one.

const LEAST_EXPONENT = -14;
const INFINITE = 0x7c00;
const NOT_A_NUMBER = 0x7e00;
/** Halfway between the largest float16 (65,504) and the next power of two. */
const OVERFLOW = 65520;

/** Units of the last place in a number, by exponent: 2^(10 − exponent) at exponent − LEAST_EXPONENT. */
const UNITS = Float64Array.from({ length: 31 }, (_, n) => 2 ** (10 - LEAST_EXPONENT - n));

/** Adding and subtracting it rounds a double to an integer, ties to the even one. */
const ROUNDER = 1.5 * 2 ** 52;

/**
 * The nearest float16 of each number, as 16-bit patterns. Ties go to the even one. Sizes of 65,520 or more become
 * infinite.
 */
export function toHalf(numbers: ArrayLike<number>): Uint16Array<ArrayBuffer> {
  const bits = new Uint16Array(numbers.length);
  const single = new Float32Array(1);
  const word = new Uint32Array(single.buffer);
  for (let i = 0; i < bits.length; i++) {
    const x = numbers[i]!;
    const size = Math.abs(x);
    single[0] = x;
    const sign = (word[0]! >>> 16) & 0x8000;
    if (!(size < OVERFLOW)) {
      bits[i] = size >= OVERFLOW ? sign | INFINITE : NOT_A_NUMBER;
      continue;
    }
    // Rounding to float32 may reach the next power of two. Then float16 rounds to that power too.
    const exponent = Math.max(((word[0]! >>> 23) & 255) - 127, LEAST_EXPONENT);
    // 1024 to 2048 for a normal number, less for a subnormal one; 2048 carries into the exponent
    const units = size * UNITS[exponent - LEAST_EXPONENT]! + ROUNDER - ROUNDER;
    bits[i] = sign | (((exponent - LEAST_EXPONENT) << 10) + units);
  }
  return bits;
}

/**
 * The numbers of 16-bit patterns. The conversion is exact. The fraction and exponent of a float16, at their places in a
 * float32, are the number times 2⁻¹¹²: the biases of the exponents are 15 and 127.
 */
export function fromHalf(bits: Uint16Array): Float32Array<ArrayBuffer> {
  const numbers = new Float32Array(bits.length);
  const words = new Uint32Array(numbers.buffer);
  for (let i = 0; i < bits.length; i++) {
    const pattern = bits[i]!;
    words[i] = ((pattern & 0x8000) << 16) | ((pattern & 0x7fff) << 13);
    const isFinite = (pattern & INFINITE) !== INFINITE;
    numbers[i]! *= isFinite ? 2 ** 112 : (pattern & 1023) === 0 ? Infinity : NaN;
  }
  return numbers;
}

/**
 * The nearest bfloat16 of each number, as 16-bit patterns. Ties go to the even one. Numbers beyond the largest one become
 * infinite. NaN stays NaN.
 */
export function toBfloat(numbers: ArrayLike<number>): Uint16Array<ArrayBuffer> {
  const patterns = new Uint16Array(numbers.length);
  const single = new Float32Array(1);
  const word = new Uint32Array(single.buffer);
  for (let i = 0; i < patterns.length; i++) {
    const x = numbers[i]!;
    single[0] = x;
    let bits = word[0]!;
    if (Number.isNaN(x)) {
      patterns[i] = (bits >>> 16) | 0x40;
      continue;
    }
    // A double that was rounded to the middle of two bfloat16 was on one side of it.
    if ((bits & 0xffff) === 0x8000) bits += Math.sign(Math.abs(x) - Math.abs(single[0]));
    patterns[i] = (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
  }
  return patterns;
}

/** The numbers of 16-bit patterns of bfloat16. The conversion is exact. */
export function fromBfloat(patterns: Uint16Array): Float32Array<ArrayBuffer> {
  const bits = new Uint32Array(patterns.length);
  for (let i = 0; i < bits.length; i++) bits[i] = patterns[i]! << 16;
  return new Float32Array(bits.buffer);
}

/** Numbers of a dtype as numbers that can be computed with: float16 and bfloat16 become float32, which is exact. */
export function numbersOf<A extends ArrayLike<number>>(data: A, dtype: string): A | Float32Array<ArrayBuffer> {
  if (dtype === "float16") return fromHalf(data as unknown as Uint16Array);
  return dtype === "bfloat16" ? fromBfloat(data as unknown as Uint16Array) : data;
}
