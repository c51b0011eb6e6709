// Neighbouring invocations on their own: what they would do together goes through workgroup memory.

fn sum_together(x: f32) -> f32 { return x; }
fn max_together(x: f32) -> f32 { return x; }
