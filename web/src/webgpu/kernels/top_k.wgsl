// The k largest of each row of ranked probabilities (see inspect.wgsl); of equal ones the lower index comes first. One
// workgroup computes one row in k rounds. Each round finds the largest (word, index) after the previous one.

@group(0) @binding(9) var<storage, read> ranked: array<u32>;  // [B, heads, row_count, Skv]

struct Candidate {
  word: u32,
  index: u32,
}
const NOBODY = 0xffffffffu;

var<workgroup> best: array<Candidate, THREADS>;
var<workgroup> winner: Candidate;

fn ranks_before(a: Candidate, b: Candidate) -> bool {
  return a.word > b.word || (a.word == b.word && a.index < b.index);
}

fn best_behind(last: Candidate, base: u32, t: u32) -> Candidate {
  var found = Candidate(0u, NOBODY);
  for (var j = t; j < params.key_length; j += THREADS) {
    let candidate = Candidate(ranked[base + j], j);
    if (candidate.word != 0u && ranks_before(last, candidate) && ranks_before(candidate, found)) { found = candidate; }
  }
  return found;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = workgroup_index(id);
  if (row >= params.workgroups) { return; }
  let base = row * params.key_length;
  // The result is [B, heads, chosen_queries, k]. This dispatch writes row_count of the queries, from first_row on.
  let place = (row / params.row_count * params.chosen_queries + params.first_row + row % params.row_count) * params.top_k;

  var last = Candidate(NOBODY, 0u);
  for (var n = 0u; n < params.top_k; n++) {
    best[t] = best_behind(last, base, t);
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
      workgroupBarrier();  // best is complete
      if (t < half && ranks_before(best[t + half], best[t])) { best[t] = best[t + half]; }
    }
    if (t == 0u) { winner = best[0]; }
    last = workgroupUniformLoad(&winner);
    if (t == 0u) {
      let found = last.word != 0u;
      output[place + n] = select(0u, last.word - 1u, found);
      rows[place + n] = select(NOBODY, last.index, found);
    }
    if (last.word == 0u) { last = Candidate(0u, NOBODY); }
  }
}
