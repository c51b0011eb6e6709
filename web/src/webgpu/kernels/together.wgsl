// Without subgroups an invocation keeps its own number here. Neighbours combine numbers through workgroup memory.

fn sum_together(x: f32) -> f32 { return x; }
fn max_together(x: f32) -> f32 { return x; }
