// The k largest numbers of each row and their columns, the largest first; of equal ones the lower column is first, and NaN
// comes before every number. `shape.number` is k. Each of k rounds finds the first (rank, column) after the previous one.

@group(0) @binding(2) var<storage, read_write> values: array<u32>;
@group(0) @binding(3) var<storage, read_write> columns: array<u32>;

struct Candidate {
  rank: u32,
  column: u32,
}

var<workgroup> best: array<Candidate, THREADS>;
var<workgroup> winner: Candidate;

fn comes_before(a: Candidate, b: Candidate) -> bool {
  return a.rank > b.rank || (a.rank == b.rank && a.column < b.column);
}

fn first_after(last: Candidate, base: u32, t: u32) -> Candidate {
  var found = Candidate(0u, 0u);
  for (var i = t; i < shape.width; i += THREADS) {
    let candidate = Candidate(rank_of(x[base + i]), i);
    if (comes_before(last, candidate) && comes_before(candidate, found)) { found = candidate; }
  }
  return found;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  let row = id.y * shape.grid_width + id.x;
  if (row >= shape.rows) { return; }
  let base = shape.x_at + row * shape.x_stride;
  var last = Candidate(0xffffffffu, 0u);
  for (var n = 0u; n < shape.number; n++) {
    best[t] = first_after(last, base, t);
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
      workgroupBarrier();  // the candidates of this round are there
      if (t < half && comes_before(best[t + half], best[t])) { best[t] = best[t + half]; }
    }
    if (t == 0u) { winner = best[0]; }
    last = workgroupUniformLoad(&winner);
    if (t == 0u) {
      values[row * shape.number + n] = x[base + last.column];
      columns[row * shape.number + n] = last.column;
    }
  }
}
