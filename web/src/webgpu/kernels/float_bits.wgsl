// Floats as bits. WGSL does not define arithmetic with Inf and NaN, so we test and write them only as bits.

const EXPONENT = 0x7f800000u;
const HALF_EXPONENT = 0x7c00u;
const MINUS_INFINITY = 0xff800000u;
const NOT_A_NUMBER = 0x7fc00000u;

fn not_finite(bits: u32) -> bool { return (bits & EXPONENT) == EXPONENT; }

/// A float16 as float32, exactly.
fn wide_of(half: u32) -> u32 {
  let special = (half & HALF_EXPONENT) == HALF_EXPONENT;
  let infinite = ((half & 0x8000u) << 16u) | EXPONENT | ((half & 0x3ffu) << 13u);
  return select(bitcast<u32>(unpack2x16float(select(half, 0u, special)).x), infinite, special);
}

/// A float32 as bfloat16, rounded to the nearest with ties to even.
fn bfloat_of(bits: u32) -> u32 {
  if ((bits & 0x7fffffffu) > EXPONENT) { return (bits >> 16u) | 0x40u; }
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

/// A float32 as float16, rounded to the nearest with ties to even, as the contract's storage rule says. WGSL's
/// pack2x16float may round either way, and its overflow is not defined.
fn half_of(bits: u32) -> u32 {
  let sign = (bits >> 16u) & 0x8000u;
  let size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) { return sign | 0x7e00u; }
  if (size >= 0x477ff000u) { return sign | 0x7c00u; }  // rounds to 65520 or more
  if (size < 0x33000000u) { return sign; }             // below half of the smallest
  let exponent = size >> 23u;
  let fraction = (size & 0x7fffffu) | 0x800000u;
  // subnormal halves lose one more bit for each step below 2^-14
  let shift = select(13u, 126u - exponent, exponent < 113u);
  let kept = fraction >> shift;
  let rest = fraction & ((1u << shift) - 1u);
  let middle = 1u << (shift - 1u);
  let rounded = kept + select(0u, 1u, rest > middle || (rest == middle && (kept & 1u) == 1u));
  return sign | (rounded + select((exponent - 113u) << 10u, 0u, exponent < 113u));
}
