// How a workgroup of one dimension falls into subgroups: the size of each invocation's subgroup where it stands in its place
// there, 0 where it does not. WGSL leaves the order open; together_subgroup.wgsl needs neighbours to be neighbours.

@group(0) @binding(0) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) t: u32, @builtin(subgroup_invocation_id) lane: u32,
        @builtin(subgroup_size) size: u32) {
  sizes[t] = select(0u, size, lane == t % size);
}
