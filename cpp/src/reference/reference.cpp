#include "reference/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "base/numbers.h"
#include "source/key_value_source.h"
#include "source/kv_cache_store.h"

namespace headwise::reference {
namespace {

double element(const void* data, Dtype dtype, std::int64_t index) {
  switch (dtype) {
    case Dtype::float32:
      return static_cast<const float*>(data)[index];
    case Dtype::float16:
      return half_to_float(static_cast<const std::uint16_t*>(data)[index]);
    case Dtype::int8:
      return static_cast<const std::int8_t*>(data)[index];
    case Dtype::bfloat16:
      return bfloat_to_float(static_cast<const Bfloat16*>(data)[index]);
  }
  return kNaN;
}

/// All rows of a cache's keys or values, run by run.
template <class NextRun>
Matrix read_cache(std::int64_t length, std::int64_t width, const float* mean, NextRun next_run) {
  Matrix rows(length, width);
  for (std::int64_t first = 0; first < length;) {
    const RowRun run = next_run(first, length - first);
    for (std::int64_t r = 0; r < run.count; ++r)
      for (std::int64_t w = 0; w < width; ++w)
        rows(first + r, w) =
            double{run.scale(r, w)} * element(run.data, run.dtype, r * run.row_stride + w * run.column_stride) +
            (mean ? double{mean[w]} : 0.0);
    first += run.count;
  }
  return rows;
}

/// Query rows [query_begin, query_end) that may see key rows [key_begin, key_end) and no others. Positions are counted
/// from query_begin and key_begin, and `offset` is added to those of queries. The sequence's columns of p are
/// [row_begin, row_end). They include keys past their length, but not keys of other sequences.
struct Sequence {
  std::int64_t query_begin, query_end, key_begin, key_end, offset, row_begin, row_end;
  std::int64_t number, num_queries;  ///< num_queries includes padding
};

std::int64_t query_offset(const AttentionOptions& options, std::int64_t n, std::int64_t query_length,
                          std::int64_t key_length, const std::int64_t* appended) {
  if (options.query_offset) return options.query_offset[n];
  if (options.causal == Causal::upper_left) return 0;
  if (appended) return *appended - query_length;
  return options.causal == Causal::lower_right ? key_length - query_length : 0;
}

std::vector<Sequence> ragged_sequences(const AttentionOptions& options) {
  std::vector<Sequence> sequences;
  for (std::int64_t n = 0; n < options.num_sequences; ++n) {
    const std::int64_t query_begin = options.cu_seq_lens_query[n], query_end = options.cu_seq_lens_query[n + 1];
    const std::int64_t key_begin = options.cu_seq_lens_key[n], key_end = options.cu_seq_lens_key[n + 1];
    const std::int64_t offset = query_offset(options, n, query_end - query_begin, key_end - key_begin, nullptr);
    sequences.push_back(
        {query_begin, query_end, key_begin, key_end, offset, key_begin, key_end, n, query_end - query_begin});
  }
  return sequences;
}

Sequence dense_sequence(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                        std::int64_t b) {
  const std::int64_t query_length = options.query_lengths ? options.query_lengths[b] : shape.query_length;
  const std::int64_t held = inputs.cache ? inputs.cache->length(b) : shape.key_length;
  const std::int64_t key_length = options.key_lengths ? options.key_lengths[b] : held;
  const std::int64_t appended = inputs.cache ? inputs.cache->appended(b) : 0;
  const std::int64_t offset = query_offset(options, b, query_length, key_length, inputs.cache ? &appended : nullptr);
  return {0, query_length, 0, key_length, offset, 0, held, b, shape.query_length};
}

/// One head of one batch while it is being computed.
struct HeadCall {
  const AttentionInputs& inputs;
  const AttentionOptions& options;
  std::int64_t b, h, g;
  double scale;
  std::int64_t key_rows;  ///< of alibi_key_positions in a batch
  Matrix query, key, value;
  KeyPositions positions;
  std::vector<Sequence> sequences;
  std::vector<const Sequence*> sequence;  ///< of each query row; null for padding

  [[nodiscard]] double query_position(std::int64_t i) const {
    return static_cast<double>(i - sequence[i]->query_begin + sequence[i]->offset);
  }
  [[nodiscard]] double key_position(std::int64_t i, std::int64_t j) const {
    return static_cast<double>(positions.of(j - sequence[i]->key_begin));
  }
  /// What ALiBi multiplies by the slope.
  [[nodiscard]] double distance(std::int64_t i, std::int64_t j) const {
    if (options.alibi_query_positions)
      return std::abs(static_cast<double>(options.alibi_query_positions[b * query.rows() + i]) -
                      static_cast<double>(options.alibi_key_positions[b * key_rows + j]));
    const std::int64_t row = j - sequence[i]->key_begin;
    const bool by_place = inputs.cache && inputs.cache->shape().cache_positions && row < positions.kept;
    const auto position = i - sequence[i]->query_begin + sequence[i]->offset;
    return std::abs(static_cast<double>((by_place ? positions.place_of(position) : position) - positions.of(row)));
  }
  [[nodiscard]] Pair pair(std::int64_t i, std::int64_t j, Evaluated s) const {
    const Sequence& of = *sequence[i];
    const std::int64_t query_row = i - of.query_begin, key_row = j - of.key_begin;
    return {s,         query_row + of.offset, positions.of(key_row),     query_row,   key_row, h, g,
            of.number, of.num_queries,        of.row_end - of.row_begin, query.cols()};
  }
};

// Pass 1: s = scale q.k, capped, minus the ALiBi penalty, plus the bias.
void compute_scores(const HeadCall& call, Head& head) {
  head.raw = call.scale * call.query * call.key.transpose();
  head.score_magnitude = std::abs(call.scale) * call.query.cwiseAbs() * call.key.cwiseAbs().transpose();

  const double cap = call.options.softcap;
  head.softcapped = cap > 0 ? Matrix(cap * (head.raw / cap).array().tanh()) : head.raw;

  head.penalty = Matrix::Zero(head.raw.rows(), head.raw.cols());
  head.bias = head.distance = head.penalty;
  for (std::int64_t i = 0; i < head.raw.rows(); ++i) {
    for (std::int64_t j = 0; j < head.raw.cols(); ++j) {
      if (call.sequence[i]) head.distance(i, j) = call.distance(i, j);
      if (call.options.alibi_slopes) head.penalty(i, j) = call.options.alibi_slopes[call.h] * head.distance(i, j);
      if (call.inputs.bias.data)
        head.bias(i, j) = element(call.inputs.bias.data, call.inputs.bias.dtype,
                                  broadcast_index(call.inputs.bias_extents, call.b, call.h, i, j));
    }
  }
  head.biased = head.softcapped - head.penalty + head.bias;
}

bool is_visible(const HeadCall& call, Head& head, std::int64_t i, std::int64_t j) {
  const Sequence* sequence = call.sequence[i];
  if (!sequence || j < sequence->key_begin || j >= sequence->key_end) return false;
  if (call.inputs.mask && !call.inputs.mask[broadcast_index(call.inputs.mask_extents, call.b, call.h, i, j)])
    return false;
  if (head.bias(i, j) == -kInfinity) return false;
  if (const Formula* visible = call.options.visible) {
    const Pair pair = call.pair(i, j, {0, 0});
    const Evaluated inside = within_bounds(*visible, pair);
    if (inside.value == 0) return false;
    if (inside.error > 0) head.unsure[i] = true;
    if (visible->result >= 0) {
      const Evaluated result = evaluate(*visible, visible->result, pair);
      if (result.error > 0 && !(std::abs(result.value) > result.error)) head.unsure[i] = true;
      if (result.value == 0) return false;
    }
  }

  const AttentionOptions& options = call.options;
  const double ahead = call.key_position(i, j) - call.query_position(i);
  if (options.causal != Causal::none && ahead > 0) return false;
  if (options.window_left >= 0 && ahead < -static_cast<double>(options.window_left)) return false;
  if (options.window_right >= 0 && ahead > static_cast<double>(options.window_right)) return false;
  return !(options.exclude_self && ahead == 0);
}

// Pass 2: which keys each query sees.
void compute_visibility(const HeadCall& call, Head& head) {
  head.visible.resize(head.raw.rows(), head.raw.cols());
  head.formula = head.biased;
  head.rows.clear();
  head.unsure.assign(head.raw.rows(), false);
  for (std::int64_t i = 0; i < head.raw.rows(); ++i) {
    for (std::int64_t j = 0; j < head.raw.cols(); ++j) {
      head.visible(i, j) = is_visible(call, head, i, j);
      if (!head.visible(i, j)) head.biased(i, j) = -kInfinity;
      head.formula(i, j) = head.biased(i, j);
      if (!head.visible(i, j) || !call.options.score) continue;
      head.formula(i, j) = head.rescored(i, j, 0).value;
      if (head.formula(i, j) == -kInfinity) head.visible(i, j) = false;
    }
    head.rows.push_back(!call.sequence[i]            ? RowKind::padding
                        : !head.visible.row(i).any() ? RowKind::empty
                                                     : RowKind::attends);
  }
}

void softmax_row(const HeadCall& call, Head& head, std::int64_t i) {
  const double sink = call.options.sinks ? call.options.sinks[call.h] : -kInfinity;
  double maximum = sink;
  for (std::int64_t j = 0; j < head.formula.cols(); ++j)
    if (head.visible(i, j)) maximum = std::fmax(maximum, head.formula(i, j));

  double sum = std::exp(sink - maximum);
  for (std::int64_t j = 0; j < head.formula.cols(); ++j)
    if (head.visible(i, j)) sum += head.probs(i, j) = std::exp(head.formula(i, j) - maximum);

  for (std::int64_t j = 0; j < head.formula.cols(); ++j)
    if (head.visible(i, j)) head.probs(i, j) /= sum;
  head.lse(i) = maximum + std::log(sum);
  for (std::int64_t j = 0; j < head.formula.cols(); ++j)
    // 0 ln 0 = 0; a NaN is kept
    if (head.probs(i, j) != 0) head.entropy(i) -= head.probs(i, j) * std::log(head.probs(i, j));
}

void fill_empty_row(const HeadCall& call, Head& head, std::int64_t i) {
  head.lse(i) = call.options.sinks ? call.options.sinks[call.h] : -kInfinity;
  const Sequence& sequence = *call.sequence[i];
  const std::int64_t key_length = sequence.key_end - sequence.key_begin;
  if (call.options.empty_rows == EmptyRows::nan) {
    head.probs.row(i).segment(sequence.row_begin, sequence.row_end - sequence.row_begin).setConstant(kNaN);
    head.entropy(i) = kNaN;
  }
  if (call.options.empty_rows == EmptyRows::uniform && key_length > 0) {
    head.probs.row(i).segment(sequence.key_begin, key_length).setConstant(1.0 / static_cast<double>(key_length));
    head.lse(i) = -kInfinity;
    head.entropy(i) = std::log(static_cast<double>(key_length));
  }
}

// Pass 3: p = exp(s) / (sum of exp(s) over the visible + exp(sink)).
void compute_softmax(const HeadCall& call, Head& head) {
  const std::int64_t rows = head.raw.rows();
  head.probs = Matrix::Zero(rows, head.raw.cols());
  head.lse = Vector::Constant(rows, -kInfinity);
  head.entropy = Vector::Zero(rows);
  for (std::int64_t i = 0; i < rows; ++i) {
    if (head.rows[i] == RowKind::attends) softmax_row(call, head, i);
    if (head.rows[i] == RowKind::empty) fill_empty_row(call, head, i);
  }
}

/// Philox4x32-10 as Salmon et al. 2011 state it: a round swaps the halves of two products.
std::uint32_t random_word(const std::uint32_t (&indices)[4], std::uint64_t seed, std::int64_t n) {
  std::uint64_t word[4];
  std::copy_n(indices, 4, word);
  for (std::uint64_t round = 0; round < 10; ++round) {
    const std::uint64_t low_key = (seed + round * 0x9E3779B9u) % 0x100000000u;
    const std::uint64_t high_key = ((seed >> 32) + round * 0xBB67AE85u) % 0x100000000u;
    const std::uint64_t first = word[0] * 0xD2511F53u, second = word[2] * 0xCD9E8D57u;
    word[0] = second / 0x100000000u ^ word[1] ^ low_key;
    word[2] = first / 0x100000000u ^ word[3] ^ high_key;
    word[1] = second % 0x100000000u;
    word[3] = first % 0x100000000u;
  }
  return static_cast<std::uint32_t>(word[n]);
}

// Between passes 3 and 4: which weights are dropped, and what the others are multiplied by.
void compute_dropout(const HeadCall& call, Head& head) {
  const Dropout& dropout = call.options.dropout;
  head.kept = Matrix::Ones(head.raw.rows(), head.raw.cols());
  for (std::int64_t i = 0; dropout.rate > 0 && i < head.raw.rows(); ++i) {
    if (head.rows[i] != RowKind::attends) continue;
    const Sequence& sequence = *call.sequence[i];
    for (std::int64_t j = sequence.key_begin; j < sequence.key_end; ++j) {
      const std::int64_t row = i - sequence.query_begin, column = j - sequence.key_begin;
      const std::uint32_t indices[] = {static_cast<std::uint32_t>(column / 4), static_cast<std::uint32_t>(row),
                                       static_cast<std::uint32_t>(call.h), static_cast<std::uint32_t>(sequence.number)};
      const bool dropped = random_word(indices, dropout.seed, column % 4) < std::floor(dropout.rate * 0x1p32);
      head.kept(i, j) = dropped ? 0 : 1 / (1 - dropout.rate);
    }
  }
}

// Pass 4: o = head_gain * sum of p v. A hidden key with p = 0 adds nothing, whatever its value is. A NaN counts only if
// its key is visible.
void compute_weighted_sum(const HeadCall& call, Head& head) {
  const double gain = call.options.head_gain ? call.options.head_gain[call.h] : 1.0;
  head.output = Matrix::Zero(head.raw.rows(), call.value.cols());
  head.output_magnitude = head.output_lag = head.visible_magnitude = head.output;
  for (std::int64_t i = 0; i < head.raw.rows(); ++i) {
    if (head.rows[i] == RowKind::empty && call.options.empty_rows == EmptyRows::nan)
      head.output.row(i).setConstant(kNaN);
    const double largest = head.raw.cols() > 0 ? head.formula.row(i).maxCoeff() : 0;
    for (std::int64_t j = 0; j < head.raw.cols(); ++j) {
      if (!head.visible(i, j) && !(head.probs(i, j) > 0)) continue;
      const double weight = head.probs(i, j) * head.kept(i, j);
      head.output.row(i) += weight * call.value.row(j);
      head.output_magnitude.row(i) += weight * call.value.row(j).cwiseAbs();
      if (head.visible(i, j) && weight > 0)
        head.output_lag.row(i) += (largest - head.formula(i, j)) * weight * call.value.row(j).cwiseAbs();
      head.visible_magnitude.row(i) += head.kept(i, j) * call.value.row(j).cwiseAbs();
    }
  }
  head.output *= gain;
  head.output_magnitude *= std::abs(gain);
  head.output_lag *= std::abs(gain);
  head.visible_magnitude *= std::abs(gain);
  if (gain == 0) head.output.setZero();
}

HeadCall read_call(const AttentionShape& shape, const AttentionInputs& inputs, const AttentionOptions& options,
                   std::int64_t b, std::int64_t h, const std::vector<Sequence>& sequences) {
  const std::int64_t g = h / (shape.num_heads / shape.num_kv_heads);
  const double scale = options.scale ? *options.scale : 1.0 / std::sqrt(static_cast<double>(shape.head_dim));
  const std::int64_t key_rows = inputs.cache ? inputs.cache->max_length() : shape.key_length;
  HeadCall call{inputs, options, b, h, g, scale, key_rows, {}, {}, {}, {}, sequences, {}};
  call.query = read_head(inputs.query, options.layout, shape.num_heads, shape.query_length, shape.head_dim, b, h);
  if (inputs.cache) {
    const KvCacheSource source(*inputs.cache);
    const std::int64_t length = inputs.cache->length(b);
    call.key = read_cache(length, shape.head_dim, source.key_mean(b, g),
                          [&](std::int64_t j, std::int64_t limit) { return source.keys(b, g, j, limit); });
    call.value = read_cache(length, shape.value_dim, nullptr,
                            [&](std::int64_t j, std::int64_t limit) { return source.values(b, g, j, limit); });
    call.positions = inputs.cache->store().positions(b);
  } else {
    const Layout kv_layout = options.kv_layout.value_or(options.layout);
    call.key = read_head(inputs.key, kv_layout, shape.num_kv_heads, shape.key_length, shape.head_dim, b, g);
    call.value = read_head(inputs.value, kv_layout, shape.num_kv_heads, shape.key_length, shape.value_dim, b, g);
  }
  call.sequence.assign(static_cast<std::size_t>(shape.query_length), nullptr);
  for (const Sequence& sequence : call.sequences)
    for (std::int64_t i = sequence.query_begin; i < sequence.query_end; ++i) call.sequence[i] = &sequence;
  return call;
}

}  // namespace

Matrix read_head(ConstArray array, Layout layout, std::int64_t num_heads, std::int64_t length, std::int64_t width,
                 std::int64_t b, std::int64_t h) {
  Matrix rows(length, width);
  for (std::int64_t s = 0; s < length; ++s)
    for (std::int64_t w = 0; w < width; ++w)
      rows(s, w) = element(array.data, array.dtype, element_index(layout, num_heads, length, width, b, h, s, w));
  return rows;
}

std::int64_t broadcast_index(const BroadcastExtents& extents, std::int64_t b, std::int64_t h, std::int64_t i,
                             std::int64_t j) {
  const std::int64_t at[4] = {b, h, i, j};
  std::int64_t index = 0;
  for (int axis = 0; axis < 4; ++axis)
    index = index * extents.extent[axis] + (extents.extent[axis] == 1 ? 0 : at[axis]);
  return index;
}

std::int64_t element_index(Layout layout, std::int64_t num_heads, std::int64_t length, std::int64_t width,
                           std::int64_t b, std::int64_t h, std::int64_t s, std::int64_t w) {
  switch (layout) {
    case Layout::bhsd:
      return ((b * num_heads + h) * length + s) * width + w;
    case Layout::bshd:
    case Layout::bse:
      return ((b * length + s) * num_heads + h) * width + w;
    case Layout::bes:
      return ((b * num_heads + h) * width + w) * length + s;
  }
  return -1;
}

std::vector<Head> attention(const AttentionShape& shape, const AttentionInputs& inputs,
                            const AttentionOptions& options) {
  std::vector<Head> heads;
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    const std::vector<Sequence> sequences =
        options.cu_seq_lens_query ? ragged_sequences(options) : std::vector{dense_sequence(shape, inputs, options, b)};
    for (std::int64_t h = 0; h < shape.num_heads; ++h) {
      const auto shared = std::make_shared<const HeadCall>(read_call(shape, inputs, options, b, h, sequences));
      const HeadCall& call = *shared;
      Head& head = heads.emplace_back();
      compute_scores(call, head);
      head.pair = [shared, scores = head.biased](std::int64_t i, std::int64_t j, double error) {
        return shared->pair(i, j, {scores(i, j), error});
      };
      if (options.score)
        head.rescored = [pair = head.pair, formula = options.score](std::int64_t i, std::int64_t j, double error) {
          return evaluate(*formula, formula->result, pair(i, j, error));
        };
      compute_visibility(call, head);
      compute_softmax(call, head);
      compute_dropout(call, head);
      compute_weighted_sum(call, head);
    }
  }
  return heads;
}

std::vector<MergedHead> merge_attention(const AttentionShape& shape, Layout layout, const AttentionPart* parts,
                                        std::int64_t num_parts, const float* sinks) {
  std::vector<MergedHead> heads;
  const std::int64_t rows = shape.query_length;
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    for (std::int64_t h = 0; h < shape.num_heads; ++h) {
      const auto part_lse = [&](std::int64_t p, std::int64_t i) -> double {
        return parts[p].lse[(b * shape.num_heads + h) * rows + i];
      };
      MergedHead& head = heads.emplace_back();
      head.output = Matrix::Zero(rows, shape.value_dim);
      head.output_magnitude = head.output;
      head.lse = Vector::Constant(rows, sinks ? sinks[h] : -kInfinity);
      for (std::int64_t i = 0; i < rows; ++i) {
        double maximum = head.lse(i);
        for (std::int64_t p = 0; p < num_parts; ++p) maximum = std::fmax(maximum, part_lse(p, i));
        if (maximum == -kInfinity) continue;
        double sum = std::exp(head.lse(i) - maximum);
        for (std::int64_t p = 0; p < num_parts; ++p) sum += std::exp(part_lse(p, i) - maximum);
        head.lse(i) = maximum + std::log(sum);
      }
      for (std::int64_t p = 0; p < num_parts; ++p) {
        const Matrix output = read_head(parts[p].output, layout, shape.num_heads, rows, shape.value_dim, b, h);
        for (std::int64_t i = 0; i < rows; ++i) {
          if (part_lse(p, i) == -kInfinity) continue;  // an empty part has no share in the row
          const double weight = std::exp(part_lse(p, i) - head.lse(i));
          head.output.row(i) += weight * output.row(i);
          head.output_magnitude.row(i) += weight * output.row(i).cwiseAbs();
        }
      }
    }
  }
  return heads;
}

}  // namespace headwise::reference
