// Conversions of float16 (IEEE 754 binary16). A library for them would be a tenth of the package. A test compares this
// code with one.

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
