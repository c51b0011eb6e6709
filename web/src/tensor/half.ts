// Conversions of float16 (IEEE 754 binary16). A library for them would be a tenth of the package. A test compares this
// code with one.

/**
 * The nearest float16 of each number, as 16-bit patterns. Ties go to the even one. Sizes of 65,520 or more become
 * infinite.
 */
export function toHalf(numbers: ArrayLike<number>): Uint16Array<ArrayBuffer> {
  return Uint16Array.from(numbers, halfBits);
}

/** The numbers of 16-bit patterns. The conversion is exact. */
export function fromHalf(bits: Uint16Array): Float32Array<ArrayBuffer> {
  return Float32Array.from(bits, halfNumber);
}

const FRACTION_BITS = 10;
const LEAST_EXPONENT = -14;
const INFINITE = 0x7c00;
const NOT_A_NUMBER = 0x7e00;
/** Halfway between the largest float16 (65,504) and the next power of two. */
const OVERFLOW = 65520;

function halfBits(x: number): number {
  if (Number.isNaN(x)) return NOT_A_NUMBER;
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const size = Math.abs(x);
  if (size >= OVERFLOW) return sign | INFINITE;
  const exponent = Math.max(Math.floor(Math.log2(size)), LEAST_EXPONENT);
  // in units of the last place: 1024 to 2048 for a normal number, less for a subnormal one; 2048 carries into the
  // exponent
  const units = roundedToEven(size / 2 ** (exponent - FRACTION_BITS));
  return sign | (((exponent - LEAST_EXPONENT) << FRACTION_BITS) + units);
}

function roundedToEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 === 1) ? floor + 1 : floor;
}

function halfNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> FRACTION_BITS) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}
