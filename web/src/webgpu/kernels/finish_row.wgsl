// Computes the results of a row from the statistics of the whole row.

/// sum = Σ exp(s - maximum), weighted = Σ exp(s - maximum) (s - maximum), over the visible keys.
struct Statistics {
  maximum: f32,
  sum: f32,
  weighted: f32,
  flags: u32,
}

fn nothing_seen() -> Statistics { return Statistics(LOWEST, 0.0f, 0.0f, 0u); }

/// Merges the statistics of two disjoint sets of keys.
fn united(a: Statistics, b: Statistics) -> Statistics {
  let maximum = max(a.maximum, b.maximum);
  let ka = exp_below(a.maximum, maximum);
  let kb = exp_below(b.maximum, maximum);
  return Statistics(maximum, ka * a.sum + kb * b.sum,
                    ka * (a.weighted + below(a.maximum, maximum) * a.sum) +
                      kb * (b.weighted + below(b.maximum, maximum) * b.sum), a.flags | b.flags);
}

/// How to write a row: out = factor * accumulated, unless `fill` names another value.
struct Finished {
  factor: f32,
  fill: u32,  // FILL_…
}
const FILL_NOTHING = 0u;
const FILL_ZERO = 1u;
const FILL_NAN = 2u;
const FILL_MEAN = 3u;

fn policy_fill(flags: u32, key_length: i32) -> u32 {
  if ((flags & PADDING) != 0u) { return FILL_ZERO; }
  if (params.empty_rows == EMPTY_NAN) { return FILL_NAN; }
  if (params.empty_rows == EMPTY_UNIFORM && key_length > 0) { return FILL_MEAN; }
  return FILL_ZERO;
}

/// Whether a row that saw keys has no weights: its scores are all minus infinity and it has no sink, or one of them has
/// overflowed.
fn is_lost(s: Statistics, has_sink: bool) -> bool {
  return (s.flags & SEEN) != 0u && ((s.sum == 0.0f && !has_sink) || not_finite(bitcast<u32>(s.maximum)) || not_finite(bitcast<u32>(s.sum)));
}

/// Adds the sink. Writes the row's lse, entropy and statistics if `write`. Returns how to scale its output.
fn finish_row(head: u32, index: u32, key_length: i32, seen: Statistics, write: bool) -> Finished {
  var s = seen;
  let sink = sink_bits_of(head);
  let has_sink = has(SINKS) && sink != MINUS_INFINITY && (s.flags & PADDING) == 0u;
  if (is_lost(s, has_sink)) { s.flags |= POISONED; }
  var kept = 1.0f;
  if (has_sink) {
    let raised = max(s.maximum, sink_score(sink));
    kept = exp_below(s.maximum, raised);
    s.weighted = kept * (s.weighted + below(s.maximum, raised) * s.sum);
    s.sum = kept * s.sum;
    s.maximum = raised;
  }
  let visible_sum = s.sum;
  if (has_sink) { s.sum += exp_below(sink_score(sink), s.maximum); }

  let empty = (s.flags & SEEN) == 0u;
  let poisoned = (s.flags & POISONED) != 0u;
  var finished = Finished(kept / max(s.sum, 1e-37f), FILL_NOTHING);
  if (empty) { finished.fill = policy_fill(s.flags, key_length); }
  if (poisoned) { finished.fill = FILL_NAN; }

  if (write) {
    var lse = bitcast<u32>(s.maximum + log(max(s.sum, 1e-37f)));
    if (empty && (!has_sink || finished.fill == FILL_MEAN)) { lse = MINUS_INFINITY; }
    if (poisoned) { lse = NOT_A_NUMBER; }
    var entropy = bitcast<u32>((visible_sum * log(max(s.sum, 1e-37f)) - s.weighted) / max(s.sum, 1e-37f));
    if (empty) { entropy = 0u; }
    if (finished.fill == FILL_NAN) { entropy = NOT_A_NUMBER; }
    if (finished.fill == FILL_MEAN) { entropy = bitcast<u32>(log(f32(key_length))); }
    rows[LSE * params.row_stride + index] = lse;
    rows[ENTROPY * params.row_stride + index] = entropy;
    rows[MAXIMUM * params.row_stride + index] = bitcast<u32>(s.maximum);
    rows[SUM * params.row_stride + index] = bitcast<u32>(s.sum);
    rows[FLAGS * params.row_stride + index] = s.flags;
  }
  return finished;
}

/// The mean of the values at j < key_length, hidden ones too, for one vec4 column. A NaN among them stays NaN.
fn mean_of_values(sequence: Sequence, group: u32, c4: u32) -> vec4<u32> {
  let base = sequence.batch * params.value_batch + group * params.value_head;
  var sum = vec4<f32>();
  var poisoned = false;
  for (var j = 0; j < sequence.key_length; j++) {
    let row = base + place_of(sequence.key_begin + j, sequence.seam) * params.value_position;
    let raw = value_four(row, c4);
    let scale = value_scale(row, c4);
    poisoned = poisoned || any_not_finite(raw, scale);
    sum += vec4<f32>(finite_part(raw, scale));
  }
  return select(bitcast<vec4<u32>>(sum / f32(sequence.key_length)), vec4<u32>(NOT_A_NUMBER), poisoned);
}

/// Writes one vec4 column of a row of output, [B, Hq, Sq, Dv] by its strides.
fn store_o(sequence: Sequence, head: u32, i: u32, c4: u32, accumulated: vec4<f32>, finished: Finished) {
  let gain = gain_of(head);
  var o = bitcast<vec4<u32>>(gain * finished.factor * accumulated);
  if (finished.fill == FILL_ZERO) { o = vec4<u32>(0u); }
  if (finished.fill == FILL_NAN) { o = vec4<u32>(NOT_A_NUMBER); }
  if (finished.fill == FILL_MEAN) {
    let mean = mean_of_values(sequence, head / params.group_size, c4);
    let scaled = bitcast<vec4<u32>>(gain * bitcast<vec4<f32>>(mean));
    o = select(scaled, mean, (mean & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT));
  }
  if (gain == 0.0f) { o = vec4<u32>(0u); }
  let base = sequence.batch * params.output_batch + head * params.output_head +
             (sequence.query_begin + i) * params.output_position;
  for (var c = 0u; c < 4u; c++) {
    let d = 4u * c4 + c;
    if (d < params.value_dim) { output[base + d * params.output_feature] = o[c]; }
  }
}
