// float16 as 16 bits. Node 20 has no Float16Array.

const float = new Float32Array(1);
const word = new Uint32Array(float.buffer);
/** The bits of 2 ** -14 in float32: the smallest normal number of float16. */
const SMALLEST_NORMAL = 0x38800000;
/** The exponents of both forms differ by 112. */
const EXPONENTS = 112 << 23;

/** The nearest float16 of a number whose magnitude is below 65504. */
export function halfBits(x) {
  float[0] = x;
  const sign = (word[0] >>> 16) & 0x8000;
  const bits = word[0] & 0x7fffffff;
  if (bits < SMALLEST_NORMAL) return sign | Math.round(Math.abs(x) * 2 ** 24);
  const toEven = 0xfff + ((bits >>> 13) & 1);
  return sign | ((bits - EXPONENTS + toEven) >>> 13);
}

export function halfValue(bits) {
  const [exponent, fraction] = [(bits >>> 10) & 31, bits & 1023];
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -size : size;
}
