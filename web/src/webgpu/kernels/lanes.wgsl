// Writes for each invocation of a one-dimensional workgroup the size of its subgroup, or 0 if its place in the subgroup
// differs from its place in the workgroup. WGSL does not define the order, but together_subgroup.wgsl needs neighbours
// in the workgroup to be neighbours in the subgroup.

@group(0) @binding(0) var<storage, read_write> sizes: array<u32>;

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) t: u32, @builtin(subgroup_invocation_id) lane: u32,
        @builtin(subgroup_size) size: u32) {
  sizes[t] = select(0u, size, lane == t % size);
}
