/// The numbers, with 0 in place of a number that is not finite. Otherwise a hidden NaN would spoil other rows, because
/// 0 * NaN is NaN.
fn finite_part(x: stored, scale: u32) -> tile4 { return numbers_of(cleaned(x), scale); }
