// Four features of a query stored as float32.
fn query_bits(at: u32) -> vec4<u32> { return query[at]; }
