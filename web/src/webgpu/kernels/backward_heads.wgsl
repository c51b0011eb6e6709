// dSinks, dHeadGain and dAlibiSlopes, [3][heads]: a workgroup adds up the rows of a head. Rows that saw no key add nothing.

@group(0) @binding(9) var<storage, read> row_words: array<vec4<u32>>;
@group(0) @binding(10) var<storage, read_write> gradient: array<u32>;

var<workgroup> sums: array<vec4<f32>, THREADS>;  // the last one: 2 if some row is poisoned, 1 if some row is lost

fn joined(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> { return vec4<f32>(a.xyz + b.xyz, max(a.w, b.w)); }

fn row_share(head: u32, row: u32) -> vec4<f32> {
  let batch = row / params.query_length;
  let index = (batch * params.num_heads + head) * params.query_length + row % params.query_length;
  let closed = row_words[2u * index + 1u];
  if ((closed.x & SEEN) == 0u) { return vec4<f32>(); }
  let ready = bitcast<vec4<f32>>(row_words[2u * index]);
  let sink = sink_bits_of(head);
  var by_sink = 0.0f;
  if (sink != MINUS_INFINITY) {
    by_sink = exp(2.0f * clamp(0.5f * sink_score(sink) - 0.5f * ready.x - 0.5f * ready.w, -52.0f, 40.0f)) * ready.y;
  }
  let poison = select(select(0.0f, 1.0f, (closed.x & LOST) != 0u), 2.0f, (closed.x & POISONED) != 0u);
  return vec4<f32>(-by_sink, bitcast<f32>(closed.y), -bitcast<f32>(closed.z), poison);
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let head = workgroup_index(id);
  if (head >= params.num_heads) { return; }
  var own = vec4<f32>();
  let rows = params.num_rows / params.num_heads;
  for (var row = t; row < rows; row += THREADS) { own = joined(own, row_share(head, row)); }
  sums[t] = own;
  for (var half = THREADS / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();  // the sums so far are complete
    if (t < half) { sums[t] = joined(sums[t], sums[t + half]); }
  }
  if (t != 0u) { return; }
  let all = bitcast<vec4<u32>>(sums[0]);
  let written = select(all.xyz, vec3<u32>(NOT_A_NUMBER), vec3<f32>(sums[0].w) > vec3<f32>(1.0f, 0.0f, 1.0f));
  gradient[head] = written.x;
  gradient[params.num_heads + head] = written.y;
  gradient[2u * params.num_heads + head] = written.z;
}
