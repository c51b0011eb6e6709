// Keys and values of float32 and float16 have neither scales nor means; only int8 has.

const HAS_MEANS = false;
fn key_scale(row: u32, c4: u32) -> u32 { return 0u; }
fn key_scale_of(number: u32, c4: u32) -> u32 { return 0u; }
fn value_scale(row: u32, c4: u32) -> u32 { return 0u; }
fn value_scale_of(number: u32, c4: u32) -> u32 { return 0u; }
fn key_mean(row: u32, c4: u32) -> vec4<f32> { return vec4<f32>(); }
fn key_numbers(x: stored, scale: u32, row: u32, c4: u32) -> tile4 { return finite_part(x, scale); }
