// Reads four features of a float32 query.
fn query_bits(at: u32) -> vec4<u32> { return query[at]; }
