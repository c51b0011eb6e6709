// Shared by all attention kernels: the call's numbers, its arrays, its rows, and which keys a row sees. shader.ts
// writes the constants; params.ts the struct Params and the features: MASK, BIAS …

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> query: array<stored_query>;
@group(0) @binding(2) var<storage, read> key: array<loaded>;
@group(0) @binding(3) var<storage, read> value: array<loaded>;
@group(0) @binding(4) var<storage, read> mask: array<u32>;   // bytes
@group(0) @binding(5) var<storage, read> bias: array<u32>;   // floats or halves, as bits
@group(0) @binding(6) var<storage, read> tables: array<u32>; // sequences, then heads, then choices
@group(0) @binding(7) var<storage, read_write> output: array<u32>;
@group(0) @binding(8) var<storage, read_write> rows: array<u32>;  // sections of row_stride elements

/// Whether the call has a feature. If OPTIONS is false, the kernel is compiled without the features before OUTPUT, for
/// calls that have none of them. One kernel serves all other calls, because every pipeline takes time to compile.
fn has(feature: u32) -> bool { return (OPTIONS || feature >= OUTPUT) && (params.features & feature) != 0u; }

// Sections of `rows`.
const LSE = 0u;
const ENTROPY = 1u;
const MAXIMUM = 2u;
const SUM = 3u;
const FLAGS = 4u;

const SEEN = 1u;      // some key was visible
const POISONED = 2u;  // a visible key, its bias or the query itself is not finite
const PADDING = 4u;   // at or after the query length
const LOST = 8u;      // in a backward call: poisoned, or its dO or a visible value is not finite

const EMPTY_ZERO = 0u;
const EMPTY_NAN = 1u;
const EMPTY_UNIFORM = 2u;

/// Four numbers of the key, or of the value, that begins at `row`.
fn key_four(row: u32, c4: u32) -> stored { return part_of(key[row + c4 / PER], c4 % PER); }
fn value_four(row: u32, c4: u32) -> stored { return part_of(value[row + c4 / PER], c4 % PER); }

/// The score of a key that adds nothing: a hidden key, or a score of minus infinity. Every other score is above it.
const LOWEST = -3.4028234663852886e+38f;
const LOWEST_VISIBLE = -3.4028232635611926e+38f;

/// A biased score as the softmax compares it: LOWEST if it adds nothing. Above the largest float it stays infinite; so is
/// one that is no number, because it has left float32 in both directions.
fn comparable(s: Score) -> f32 {
  let bits = bitcast<u32>(s.score);
  let adds_nothing = !s.visible || bits == MINUS_INFINITY;
  let overflows = not_finite(bits);
  return select(select(max(s.score, LOWEST_VISIBLE), bitcast<f32>(bits & EXPONENT), overflows), LOWEST, adds_nothing);
}

struct Sequence {
  batch: u32,
  query_begin: u32,
  num_queries: u32,
  query_length: i32,
  key_begin: i32,
  num_keys: i32,
  key_length: i32,
  offset: i32,
  dropped: i32,  // tokens that a ring has dropped, between the kept tokens and the others
  seam: i32,     // the place of the first of the others
  first: i32,    // query i sees the keys from position i + first on: the window's left side
  past: i32,     // and the keys before position i + past: its right side or causality
}
const SEQUENCE_WORDS = 12u;

/// Query rows, key rows and a ring's tokens have numbers below half of this. A position that is farther away is limited
/// to it, as sequences.ts does with `first` and `past`. So sums fit 32 bits, and no comparison with a key changes.
const FARTHEST = 1073741824;

fn sequence_at(n: u32) -> Sequence {
  let at = SEQUENCE_WORDS * n;
  return Sequence(tables[at], tables[at + 1u], tables[at + 2u], i32(tables[at + 3u]), i32(tables[at + 4u]),
                  i32(tables[at + 5u]), i32(tables[at + 6u]), i32(tables[at + 7u]), i32(tables[at + 8u]),
                  i32(tables[at + 9u]), i32(tables[at + 10u]), i32(tables[at + 11u]));
}

/// The sequence of a packed query row: the batch itself. In a ragged batch it is the last sequence that begins at or
/// before the row and is not empty.
fn sequence_of(batch: u32, packed: u32) -> u32 {
  if (!has(RAGGED)) { return batch; }
  var low = 0u;
  var high = params.num_sequences - 1u;
  while (low < high) {
    let middle = (low + high + 1u) / 2u;
    if (tables[SEQUENCE_WORDS * middle + 1u] <= packed) { low = middle; } else { high = middle - 1u; }
  }
  return low;
}

fn slope_of(head: u32) -> f32 { return bitcast<f32>(tables[params.heads_at + head]); }
fn sink_bits_of(head: u32) -> u32 { return tables[params.heads_at + params.num_heads + head]; }

/// A sink as the softmax compares it with the scores of `comparable`.
fn sink_score(bits: u32) -> f32 { return max(bitcast<f32>(bits), LOWEST_VISIBLE); }
fn gain_of(head: u32) -> f32 { return bitcast<f32>(tables[params.heads_at + 2u * params.num_heads + head]); }

// Key rows are numbered in order of position. Row j is at position j; if a ring has dropped tokens, at its absolute
// position. It lies at its place in the ring.

fn position_of(j: i32, dropped: i32) -> i32 {
  if (!has(RING)) { return j; }
  return j + select(0, dropped, j >= params.ring_kept);
}

/// The number of key rows before a position: the row at or after that position, as if the keys had no end.
fn rows_before(position: i32, dropped: i32) -> i32 {
  if (!has(RING) || position <= params.ring_kept) { return position; }
  return max(params.ring_kept, position - dropped);
}

/// The place of key row j in memory.
fn place_of(j: i32, seam: i32) -> u32 {
  if (!has(RING) || j < params.ring_kept) { return u32(j); }
  let turned = j - params.ring_kept + seam;
  return u32(params.ring_kept + select(turned, turned - params.ring_window, turned >= params.ring_window));
}

/// Key rows [begin, end) that query row i of a sequence may see by position and length, counted over the packed keys.
struct KeyRange {
  begin: i32,
  end: i32,
}

fn keys_seen_by(i: i32, sequence: Sequence) -> KeyRange {
  let begin = clamp(rows_before(i + sequence.first, sequence.dropped), 0, sequence.key_length);
  let end = clamp(rows_before(i + sequence.past, sequence.dropped), begin, sequence.key_length);
  return KeyRange(sequence.key_begin + begin, sequence.key_begin + select(end, begin, i >= sequence.query_length));
}

/// Whether the first keys of a ring meet other queries than the keys after them.
fn has_kept_queries() -> bool { return has(RING) && params.kept_queries != 0u; }

/// A query row of one head, with everything that decides which keys it sees.
struct Row {
  query: u32,     // first vec4 in `query`
  head: u32,
  index: u32,     // (b * Hq + h) * Sq + i
  begin: i32,
  end: i32,
  position: i32,  // its position, counted over the packed keys, limited to FARTHEST
  exact: u32,     // the same without the limit, modulo 2^32
  dropped: i32,
  mask: u32,      // element for key 0
  bias: u32,
  with formula { formulas: FormulaRow, }
  with dropout {
  sequence: u32,  // its number
  own_row: u32,   // within its sequence
  first_key: i32, // of its sequence, among the packed keys
  }
}

fn make_row(sequence: Sequence, head: u32, i: u32) -> Row {
  let packed = sequence.query_begin + i;
  let range = keys_seen_by(i32(i), sequence);
  return Row(
    sequence.batch * params.query_batch + head * params.query_head + packed * params.query_position,
    head,
    (sequence.batch * params.num_heads + head) * params.query_length + packed,
    range.begin,
    range.end,
    i32(i) + clamp(sequence.offset, -FARTHEST, FARTHEST) + sequence.key_begin,
    i + u32(sequence.offset) + u32(sequence.key_begin),
    sequence.dropped,
    sequence.batch * params.mask_batch + head * params.mask_head + packed * params.mask_query,
    sequence.batch * params.bias_batch + head * params.bias_head + packed * params.bias_query,
    with formula { FormulaRow(), }
    with dropout { sequence_of(sequence.batch, packed), i, sequence.key_begin, }
  );
}

/// Whether exclude_self or a ring may hide keys within the range of a row.
fn has_gaps() -> bool { return params.exclude_self != 0u || (has(RING) && params.ring_sight != 0); }

/// Whether the key row lies before a ring's window, and after the tokens that it keeps.
fn is_dropped(row: Row, j: i32) -> bool {
  if (!has(RING) || params.ring_sight == 0 || j < params.ring_kept) { return false; }
  return position_of(j, row.dropped) <= row.position - params.ring_sight;
}

/// Whether key row j is visible by position, length and mask. The bias decides separately (see `biased`).
fn is_visible(row: Row, j: i32) -> bool {
  var visible = j >= row.begin && j < row.end && !is_dropped(row, j)
                && (params.exclude_self == 0u || position_of(j, row.dropped) != row.position);
  if (has(MASK) && visible) {
    let at = row.mask + u32(j) * params.mask_key;
    visible = ((mask[at / 4u] >> (8u * (at % 4u))) & 0xffu) != 0u;
  }
  with formula { visible = visible && allowed(row, j); }
  return visible;
}

/// The distance of two positions that were given. It is below 2^32, so a difference modulo 2^32 is exact.
fn given_distance(row: Row, j: i32) -> f32 {
  let batch = row.index / (params.num_heads * params.query_length);
  let queries = params.num_rows / params.num_heads;
  let a = i32(tables[params.positions_at + batch * params.query_length + row.index % params.query_length]);
  let b = i32(tables[params.positions_at + queries + batch * params.key_length + u32(j)]);
  return f32(select(u32(b) - u32(a), u32(a) - u32(b), a >= b));
}

/// The tokens of the text between a query and the kept tokens of a ring that are no places: see `placeOfQuery`.
fn tokens_without_place(row: Row, j: i32) -> u32 {
  if (!has(RING) || params.ring_places == 0u || j >= params.ring_kept) { return 0u; }
  return u32(select(row.dropped, max(row.position - params.ring_kept - params.ring_sight + 1, 0), params.ring_sight != 0));
}

/// The distance of key row j from a row. It is always below 2^32, so a difference modulo 2^32 is exact.
fn distance_to(row: Row, j: i32) -> f32 {
  if (params.positions_at != 0u) { return given_distance(row, j); }
  let position = position_of(j, row.dropped);
  let gap = tokens_without_place(row, j);
  let at = row.exact - gap;
  return f32(select(u32(position) - at, at - u32(position), row.position - i32(gap) >= position));
}

/// A score before the softmax. Use `score` only if `visible` is true and `poisoned` is false.
struct Score {
  score: f32,
  visible: bool,
  poisoned: bool,
}

/// tanh by the rational approximation of Cephes, because WGSL's own tanh may be off by 1e-5.
fn tanh_exactly(x: f32) -> f32 {
  let size = abs(x);
  let z = x * x;
  let near_zero = ((((-5.70498872745e-3f * z + 2.06390887954e-2f) * z - 5.37397155531e-2f) * z + 1.33314422036e-1f) * z
                   - 3.33332819422e-1f) * z * x + x;
  let far = sign(x) * (1.0f - 2.0f / (exp(2.0f * min(size, 10.0f)) + 1.0f));
  return select(far, near_zero, size < 0.625f);
}

/// Whether softcap changes no bit of a score: up to 2^-12, tanh(x) is x. So small a quotient could be subnormal, and be 0 on
/// the device.
fn is_uncapped(raw: f32) -> bool { return !has(SOFTCAP) || abs(raw) <= 2.44140625e-4f * params.softcap; }

fn softcapped(raw: f32) -> f32 {
  if (is_uncapped(raw)) { return raw; }
  return params.softcap * tanh_exactly(raw / params.softcap);
}

fn bias_bits(at: u32) -> u32 {
  if (!has(HALF_BIAS)) { return bias[at]; }
  return wide_of((bias[at / 2u] >> (16u * (at % 2u))) & 0xffffu);
}

/// Turns a raw score into a biased score, and decides whether the key is visible.
fn biased(row: Row, j: i32, raw: f32, poisoned: bool) -> Score {
  var s = Score(softcapped(raw), is_visible(row, j), poisoned);
  if (has(ALIBI)) { s.score -= slope_of(row.head) * distance_to(row, j); }
  if (has(BIAS) && s.visible) {
    let bits = bias_bits(row.bias + u32(j) * params.bias_key);
    s.visible = bits != MINUS_INFINITY;
    s.poisoned = s.poisoned || not_finite(bits);
    s.score += bitcast<f32>(select(bits, 0u, not_finite(bits)));
  }
  with formula { s = scored(row, j, s); }
  return s;
}

/// s - maximum for s <= maximum, but never below -104: e to that is 0. The halves cannot overflow, and halving is exact.
fn below(s: f32, maximum: f32) -> f32 { return 2.0f * max(0.5f * s - 0.5f * maximum, -52.0f); }

/// exp(s - maximum) for s <= maximum.
fn exp_below(s: f32, maximum: f32) -> f32 { return exp(below(s, maximum)); }

/// Workgroups are counted along a grid of any width, so that no dimension exceeds its limit.
fn workgroup_index(id: vec3<u32>) -> u32 { return params.first_workgroup + id.y * params.grid_width + id.x; }
