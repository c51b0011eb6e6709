// The power of two by which the numbers of a row or head are multiplied before its norm, so that no square that counts
// leaves float32. It is 0 for usual rows, and changes no bit of the norm. Powers and epsilon are added as whole numbers: a
// device may multiply in any order, and an intermediate product may be infinite; it may also take a subnormal number for 0.

/// Of four rows. `largest` are the sizes of their largest numbers, as bits, and `epsilon` is added to numbers of this degree:
/// 2 to squares, 1 to lengths. It stays below 2^100: where that limits a power, the numbers are too small to count beside it.
fn powers_for(largest: vec4<u32>, epsilon: u32, degree: i32) -> vec4<i32> {
  let exponents = vec4<i32>(largest >> vec4<u32>(23u)) - 127;
  let most = select(126, (100 + 127 - i32(epsilon >> 23u)) / degree, epsilon != 0u);
  let is_usual = (abs(exponents) <= vec4<i32>(45)) | (exponents == vec4<i32>(128));  // or not finite
  return select(min(clamp(-exponents, vec4<i32>(-126), vec4<i32>(126)), vec4<i32>(most)), vec4<i32>(), is_usual);
}

fn two_to(powers: vec4<i32>) -> vec4<f32> { return bitcast<vec4<f32>>(vec4<u32>(powers + 127) << vec4<u32>(23u)); }

/// epsilon times two to the powers, or 0 where that is too small to count.
fn epsilon_at(epsilon: u32, powers: vec4<i32>) -> vec4<f32> {
  let subnormal = max(i32(countLeadingZeros(epsilon)) - 8, 0);
  let digits = (epsilon << u32(subnormal)) & 0x7fffffu;
  let exponents = max(i32(epsilon >> 23u), 1) - subnormal + powers;
  let scaled = (vec4<u32>(clamp(exponents, vec4<i32>(1), vec4<i32>(254))) << vec4<u32>(23u)) | vec4<u32>(digits);
  return select(vec4<f32>(), bitcast<vec4<f32>>(scaled), (exponents >= vec4<i32>(1)) & vec4<bool>(epsilon != 0u));
}
