#include "attention/inspect.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "attention/finish.h"
#include "attention/scores.h"
#include "attention/tile.h"
#include "base/sizes.h"

namespace headwise {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Rows of a block share one packing of the keys; together with their scores they stay within 4 MiB.
constexpr std::int64_t kMaxRows = 64;
constexpr std::int64_t kMaxBlockFloats = 1 << 20;
constexpr std::int64_t kMaxKeys = 192;
constexpr std::int64_t kMaxKeyFloats = 1 << 17;

/// Sizes of a block of inspected rows; from the shape alone.
struct BlockSizes {
  std::int64_t rows, width, keys;  ///< rows, padded Skv, keys packed at a time
};

BlockSizes block_sizes(const Call& call) {
  const std::int64_t width = round_up(std::max<std::int64_t>(call.key_length, 1), call.kernels.panel_width);
  const std::int64_t rows = std::clamp<std::int64_t>(kMaxBlockFloats / width, 1, kMaxRows);
  const std::int64_t fitting =
      kMaxKeyFloats / call.shape.head_dim / call.kernels.panel_width * call.kernels.panel_width;
  const std::int64_t keys = std::clamp<std::int64_t>(fitting, call.kernels.panel_width, std::min(kMaxKeys, width));
  return {round_up(rows, call.kernels.row_block), width, keys};
}

/// One worker's scratch for a block.
struct Block {
  BlockSizes sizes;
  float* query;               ///< [rows, head_dim]
  float* keys;                ///< packed keys
  float* scores;              ///< [rows, width]
  float* mean;                ///< [rows, width]: probabilities added up over heads
  float* row;                 ///< [width]
  std::uint64_t* candidates;  ///< [width]
  std::uint8_t* visible;      ///< [width]
  std::uint8_t* any;          ///< [rows, width]: visible in some head

  Block(const Call& call, char* memory) : sizes(block_sizes(call)) {
    auto* floats = reinterpret_cast<float*>(memory);
    query = floats, floats += sizes.rows * round_up(call.shape.head_dim, 16);
    keys = floats, floats += round_up(sizes.keys * call.shape.head_dim, 16);
    scores = floats, floats += sizes.rows * sizes.width;
    mean = floats, floats += sizes.rows * sizes.width;
    row = floats, floats += sizes.width;
    candidates = reinterpret_cast<std::uint64_t*>(floats), floats += 2 * sizes.width;
    visible = reinterpret_cast<std::uint8_t*>(floats);
    any = visible + sizes.width;
  }
};

/// A block of chosen rows of one sequence: entries [begin, end) of the selection.
struct Rows {
  const Sequence* sequence;
  std::int64_t begin, end;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// A selection with its defaults filled in.
class Chosen {
 public:
  Chosen(const Call& call, const Selection& selection) : call_(call), selection_(selection) {}
  [[nodiscard]] std::int64_t heads() const { return selection_.heads ? selection_.num_heads : call_.shape.num_heads; }
  [[nodiscard]] std::int64_t queries() const {
    return selection_.queries ? selection_.num_queries : call_.shape.query_length;
  }
  [[nodiscard]] std::int64_t head(std::int64_t n) const { return selection_.heads ? selection_.heads[n] : n; }
  /// The n-th chosen query, counted over the whole Sq axis.
  [[nodiscard]] std::int64_t query(std::int64_t n) const { return selection_.queries ? selection_.queries[n] : n; }
  [[nodiscard]] bool average() const { return selection_.average; }
  [[nodiscard]] std::int64_t output_heads() const { return average() ? 1 : heads(); }

 private:
  const Call& call_;
  const Selection& selection_;
};

/// The sequence that owns query `query` of batch `batch`; in a ragged batch found by its beginning.
const Sequence* sequence_of(const Call& call, std::int64_t batch, std::int64_t query) {
  if (!call.options.cu_seq_lens_query) return call.sequences + batch;
  const Sequence* end = call.sequences + call.num_sequences;
  const Sequence* after = std::upper_bound(call.sequences, end, query, [](std::int64_t q, const Sequence& sequence) {
    return q < sequence.query_begin + sequence.num_queries;
  });
  return after == end ? nullptr : after;
}

QueryRow query_row(const Call& call, const Sequence& sequence, std::int64_t head, std::int64_t query) {
  QueryRow row;
  row.head = head;
  row.i = query - sequence.query_begin;
  row.keys = call.visible_keys(sequence, row.i);
  return row;
}

/// The keys that some row of the block may see by position and length.
KeyRange reach_of(const Call& call, const Chosen& chosen, const Rows& rows) {
  KeyRange reach;
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const std::int64_t i = chosen.query(r) - rows.sequence->query_begin;
    const KeyRange seen = call.visible_keys(*rows.sequence, i).range;
    if (seen.empty()) continue;
    reach = reach.empty() ? seen : KeyRange{std::min(reach.begin, seen.begin), std::max(reach.end, seen.end)};
  }
  return reach;
}

/// Raw scores of the block's rows against `keys` of their sequence, in the columns of the same numbers.
void score_block(const Call& call, const Chosen& chosen, const Rows& rows, std::int64_t head, KeyRange keys,
                 Block& block) {
  const Sequence& sequence = *rows.sequence;
  const std::int64_t depth = call.shape.head_dim, group = head / call.group_size, width = call.kernels.panel_width;
  for (std::int64_t r = 0; r < rows.size(); ++r)
    call.load_query(sequence, head, chosen.query(rows.begin + r) - sequence.query_begin, block.query + r * depth);
  const std::int64_t padded = round_up(rows.size(), call.kernels.row_block);
  std::fill(block.query + rows.size() * depth, block.query + padded * depth, 0.0f);
  for (std::int64_t j = keys.begin / width * width; j < keys.end; j += block.sizes.keys) {
    const KeyRange packed{j, std::min(j + block.sizes.keys, keys.end)};
    call.for_each_key_run(sequence, group, packed, [&](const RowRun& run, std::int64_t first) {
      call.kernels.pack_transposed(run, depth, first, block.keys);
    });
    call.kernels.multiply(block.query, depth, block.keys, depth * width, depth, divide_up(packed.size(), width),
                          block.scores + j, block.sizes.width, padded, false);
  }
}

/// Scores of one row to biased, hidden ones to -inf. Returns the columns that this holds for, whole panels around what
/// the row may see: the others were perhaps not computed. Marks block.visible.
KeyRange hide_row(const Call& call, const Sequence& sequence, const QueryRow& row, Block& block, float* scores) {
  std::fill_n(block.visible, block.sizes.width, std::uint8_t{0});
  const KeyRange reach = row.keys.range;
  if (reach.empty()) return {};
  const std::int64_t width = call.kernels.panel_width;
  const KeyRange columns{reach.begin / width * width, round_up(reach.end, width)};
  const KeyRange keys{columns.begin, std::min(columns.end, sequence.key_length)};
  raise_scores(call, sequence, row, keys, ScoreStage::biased, scores + keys.begin, columns.size());
  if (needs_hiding(call, row, keys))
    hide_scores(call, sequence, row, keys, scores + keys.begin, block.visible + keys.begin);
  else
    std::fill_n(block.visible + keys.begin, keys.size(), std::uint8_t{1});
  std::fill(scores + keys.end, scores + columns.end, -kInfinity);
  return columns;
}

/// Fills the columns of a row outside `columns`.
void fill_around(KeyRange columns, float value, const Block& block, float* row) {
  std::fill(row, row + columns.begin, value);
  std::fill(row + columns.end, row + block.sizes.width, value);
}

/// Scores of one row to probabilities, by its final maximum and sum and the empty-row policy. Returns the columns
/// around what the row sees.
KeyRange to_probabilities(const Call& call, const Sequence& sequence, const QueryRow& row,
                          const FinishedSoftmax& softmax, Block& block, float* scores) {
  const KeyRange columns = hide_row(call, sequence, row, block, scores);
  if (softmax.seen) {
    call.kernels.exponentials(scores + columns.begin, columns.size(), softmax.maximum, softmax.share);
    fill_around(columns, 0.0f, block, scores);
    return columns;
  }
  std::fill_n(scores, block.sizes.width, 0.0f);
  if (!follows_policy(sequence, row, softmax.seen) || call.options.empty_rows == EmptyRows::zero) return {};
  if (call.options.empty_rows == EmptyRows::nan) {
    std::fill_n(scores, sequence.num_keys, kNan);
    return {};
  }
  std::fill_n(scores, sequence.key_length, 1.0f / static_cast<float>(sequence.key_length));
  std::fill_n(block.visible, sequence.key_length, std::uint8_t{1});  // uniform looks at every key
  return {0, block.sizes.width};
}

// ---- what is derived ------------------------------------------------------------------------------------------------

/// Writes a row of [B, heads, queries, Skv]: `values` at the keys that the sequence has, `elsewhere` at the others.
void write_row(const Call& call, const Sequence& sequence, const float* values, float elsewhere, float* out) {
  const std::int64_t end = sequence.key_begin + sequence.num_keys;
  std::fill(out, out + sequence.key_begin, elsewhere);
  std::copy_n(values, sequence.num_keys, out + sequence.key_begin);
  std::fill(out + end, out + call.key_length, elsewhere);
}

/// -sum p ln p over whole panels. -ln p = log_sum - (s - maximum): every term is >= 0, so float32 holds their sum well,
/// in chunks.
float entropy_of(const float* scores, const float* probabilities, std::int64_t count, const FinishedSoftmax& softmax) {
  constexpr std::int64_t kChunk = 512, kLanes = 8;
  double total = 0.0;
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    float sums[kLanes] = {};
    for (std::int64_t j = begin; j < std::min(begin + kChunk, count); j += kLanes) {
      for (std::int64_t i = 0; i < kLanes; ++i) {
        const float p = probabilities[j + i];
        sums[i] += p == 0.0f ? 0.0f : p * (softmax.log_sum - (scores[j + i] - softmax.maximum));
      }
    }
    for (const float sum : sums) total += sum;
  }
  return static_cast<float>(total);
}

float entropy_of_empty_row(const Call& call, const Sequence& sequence, const QueryRow& row,
                           const FinishedSoftmax& softmax) {
  if (!follows_policy(sequence, row, softmax.seen)) return 0.0f;
  if (call.options.empty_rows == EmptyRows::nan) return kNan;
  if (call.options.empty_rows == EmptyRows::uniform && sequence.key_length > 0)
    return std::log(static_cast<float>(sequence.key_length));
  return 0.0f;
}

/// A probability and its key as a number: what ranks before is larger. Larger values rank first, then lower keys; NaN
/// before everything, so that it is seen.
std::uint64_t ranked(float value, std::int64_t key) {
  const std::uint32_t bits = value == value ? std::bit_cast<std::uint32_t>(value) : 0x7fffffffu;  // values are >= 0
  return std::uint64_t{bits} << 32 | (0xffffffffu - static_cast<std::uint32_t>(key));
}

/// A bound that at least k values of a row reach: the k-th largest of the maxima of 4 k groups of them, or -inf.
float reached_by(const float* values, std::int64_t count, std::int64_t k) {
  constexpr std::int64_t kMaxGroups = 256;
  const std::int64_t groups = round_up(4 * k, 32);
  if (groups > kMaxGroups || count < groups) return -kInfinity;
  float maxima[kMaxGroups];
  std::copy_n(values, groups, maxima);
  for (std::int64_t begin = groups; begin + groups <= count; begin += groups)
    for (std::int64_t i = 0; i < groups; ++i) maxima[i] = std::max(maxima[i], values[begin + i]);
  std::uint32_t bits[kMaxGroups];  // in the order of the values, which are >= 0 or NaN
  std::memcpy(bits, maxima, groups * sizeof(float));
  std::nth_element(bits, bits + k - 1, bits + groups, std::greater<>());
  return std::bit_cast<float>(bits[k - 1]);
}

constexpr std::int64_t kChunk = 8;
bool any_reaches(const float* chunk, float bound) {
  bool any = false;
  for (std::int64_t i = 0; i < kChunk; ++i) any |= !(chunk[i] < bound);  // a NaN does
  return any;
}

/// The k best visible values of a row of whole panels, ties to the lower index: of the few that reach the bound, in
/// most chunks none, the first k are sorted. `candidates` has room for `count`.
void select_top_k(const float* values, const std::uint8_t* visible, std::int64_t count, std::int64_t first_key,
                  std::int64_t k, std::uint64_t* candidates, float* top_values, std::int32_t* top_indices) {
  std::uint64_t* end = candidates;
  const float bound = reached_by(values, count, k);
  for (std::int64_t begin = 0; begin < count; begin += kChunk) {
    if (!any_reaches(values + begin, bound)) continue;
    for (std::int64_t j = begin; j < begin + kChunk; ++j) {  // without a branch, which could not be foreseen
      *end = ranked(values[j], first_key + j);
      end += visible[j] & !(values[j] < bound);
    }
  }
  const std::int64_t found = std::min(k, static_cast<std::int64_t>(end - candidates));
  std::partial_sort(candidates, candidates + found, end, std::greater<>());
  for (std::int64_t n = 0; n < found; ++n) {
    top_values[n] = std::bit_cast<float>(static_cast<std::uint32_t>(candidates[n] >> 32));
    top_indices[n] = static_cast<std::int32_t>(0xffffffffu - static_cast<std::uint32_t>(candidates[n]));
  }
  std::fill(top_values + found, top_values + k, 0.0f);
  std::fill(top_indices + found, top_indices + k, -1);
}

/// The parts of one inspection that a block of rows goes through.
class Inspection {
 public:
  Inspection(const Call& call, const FinishedSoftmax* statistics) : call_(call), statistics_(statistics) {}

  void probs(const Rows& rows, std::int64_t n, Block& block) const {
    const Selection& selection = call_.outputs.probs_selection;
    each_probability_row(selection, rows, n, block, [&](std::int64_t r, const float* p, const std::uint8_t*, KeyRange) {
      write_row(call_, *rows.sequence, p, 0.0f, call_.outputs.probs + place(selection, rows, n, r) * call_.key_length);
    });
  }

  void top_k(const Rows& rows, std::int64_t n, Block& block) const {
    const Selection& selection = call_.outputs.top_k_selection;
    const std::int64_t k = call_.outputs.top_k;
    const auto select = [&](std::int64_t r, const float* p, const std::uint8_t* visible, KeyRange columns) {
      const std::int64_t at = place(selection, rows, n, r) * k;
      select_top_k(p + columns.begin, visible + columns.begin, columns.size(), rows.sequence->key_begin + columns.begin,
                   k, block.candidates, call_.outputs.top_k_values + at, call_.outputs.top_k_indices + at);
    };
    each_probability_row(selection, rows, n, block, select);
  }

  void scores(const Rows& rows, std::int64_t n, Block& block) const {
    const Selection& selection = call_.outputs.scores_selection;
    const ScoreStage stage = call_.outputs.scores_stage;
    const Chosen chosen(call_, selection);
    const KeyRange all{0, rows.sequence->num_keys};
    const bool biased = stage == ScoreStage::biased;
    score_block(call_, chosen, rows, chosen.head(n), biased ? reach_of(call_, chosen, rows) : all, block);
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      const QueryRow row = query_row(call_, *rows.sequence, chosen.head(n), chosen.query(rows.begin + r));
      float* scores = block.scores + r * block.sizes.width;
      if (biased)
        fill_around(hide_row(call_, *rows.sequence, row, block, scores), -kInfinity, block, scores);
      else
        raise_scores(call_, *rows.sequence, row, all, stage, scores, block.sizes.width);
      write_row(call_, *rows.sequence, scores, biased ? -kInfinity : 0.0f,
                call_.outputs.scores + place(selection, rows, n, r) * call_.key_length);
    }
  }

  void entropy(const Rows& rows, std::int64_t head, Block& block) const {
    const Selection everything;
    const Chosen chosen(call_, everything);
    score_block(call_, chosen, rows, head, reach_of(call_, chosen, rows), block);
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      const QueryRow row = query_row(call_, *rows.sequence, head, chosen.query(rows.begin + r));
      const std::int64_t at = row_index(call_, *rows.sequence, row);
      float* scores = block.scores + r * block.sizes.width;
      if (!statistics_[at].seen) {
        call_.outputs.entropy[at] = entropy_of_empty_row(call_, *rows.sequence, row, statistics_[at]);
        continue;
      }
      const KeyRange columns = hide_row(call_, *rows.sequence, row, block, scores);
      scores += columns.begin;
      std::copy_n(scores, columns.size(), block.row);
      call_.kernels.exponentials(block.row, columns.size(), statistics_[at].maximum, statistics_[at].share);
      call_.outputs.entropy[at] = entropy_of(scores, block.row, columns.size(), statistics_[at]);
    }
  }

 private:
  /// Index of the r-th row of the block in a [B, heads, queries] array of the selection.
  [[nodiscard]] std::int64_t place(const Selection& selection, const Rows& rows, std::int64_t n, std::int64_t r) const {
    const Chosen chosen(call_, selection);
    return (rows.sequence->batch * chosen.output_heads() + n) * chosen.queries() + rows.begin + r;
  }

  /// Calls visit(r, probabilities, visible, columns) for the rows of the block: those of chosen head n, or the heads'
  /// mean. All that a row sees lies within `columns`.
  template <class Visit>
  void each_probability_row(const Selection& selection, const Rows& rows, std::int64_t n, Block& block,
                            Visit visit) const {
    const Chosen chosen(call_, selection);
    const std::int64_t first = selection.average ? 0 : n, last = selection.average ? chosen.heads() : n + 1;
    const std::int64_t width = block.sizes.width;
    const KeyRange reach = reach_of(call_, chosen, rows);
    if (selection.average) {
      std::fill_n(block.mean, rows.size() * width, 0.0f);
      std::fill_n(block.any, rows.size() * width, std::uint8_t{0});
    }
    for (std::int64_t h = first; h < last; ++h) {
      score_block(call_, chosen, rows, chosen.head(h), reach, block);
      for (std::int64_t r = 0; r < rows.size(); ++r) {
        const QueryRow row = query_row(call_, *rows.sequence, chosen.head(h), chosen.query(rows.begin + r));
        const FinishedSoftmax& softmax = statistics_[row_index(call_, *rows.sequence, row)];
        float* scores = block.scores + r * width;
        const KeyRange columns = to_probabilities(call_, *rows.sequence, row, softmax, block, scores);
        if (!selection.average) {
          visit(r, scores, block.visible, columns);
          continue;
        }
        for (std::int64_t j = 0; j < rows.sequence->num_keys; ++j) block.mean[r * width + j] += scores[j];
        for (std::int64_t j = 0; j < rows.sequence->key_length; ++j) block.any[r * width + j] |= block.visible[j];
      }
    }
    if (!selection.average) return;
    const float share = 1.0f / static_cast<float>(chosen.heads());
    for (std::int64_t r = 0; r < rows.size(); ++r) {
      call_.kernels.scale(block.mean + r * width, width, share);
      visit(r, block.mean + r * width, block.any + r * width, KeyRange{0, width});
    }
  }

  const Call& call_;
  const FinishedSoftmax* statistics_;
};

/// Shares out batches x heads x blocks of the chosen queries. A block is cut where the next sequence begins.
template <class Work>
void for_each_block(ThreadPool& pool, const Call& call, const Selection& selection, char* scratch, Work work) {
  const Chosen chosen(call, selection);
  const std::int64_t block_rows = block_sizes(call).rows, bytes = inspection_bytes(call);
  const std::int64_t blocks = (chosen.queries() + block_rows - 1) / block_rows;
  const std::int64_t heads = chosen.output_heads();
  pool.parallel_for(call.shape.batch_size * heads * blocks, [&](std::int64_t index, int worker) {
    Block block(call, scratch + worker * bytes);
    const std::int64_t batch = index / (heads * blocks), n = index / blocks % heads;
    const std::int64_t end = std::min((index % blocks + 1) * block_rows, chosen.queries());
    for (std::int64_t begin = index % blocks * block_rows; begin < end;) {
      const Sequence* sequence = sequence_of(call, batch, chosen.query(begin));
      std::int64_t next = begin + 1;
      while (next < end && sequence_of(call, batch, chosen.query(next)) == sequence) ++next;
      work(Rows{sequence, begin, next}, n, block);
      begin = next;
    }
  });
}

}  // namespace

bool wants_inspection(const AttentionOutputs& outputs) {
  return outputs.probs || outputs.scores || outputs.entropy || outputs.top_k_values;
}

std::int64_t inspection_bytes(const Call& call) {
  const BlockSizes sizes = block_sizes(call);
  std::int64_t query, keys;
  if (!multiply_sizes(sizes.rows, round_up(call.shape.head_dim, 16), &query)) return -1;
  if (!multiply_sizes(sizes.keys, call.shape.head_dim, &keys)) return -1;
  const std::int64_t floats = query + round_up(keys, 16) + (2 * sizes.rows + 3) * sizes.width;
  return round_up(floats * static_cast<std::int64_t>(sizeof(float)) + (sizes.rows + 1) * sizes.width, 64);
}

void inspect(ThreadPool& pool, const Call& call, const FinishedSoftmax* statistics, char* scratch) {
  const Inspection inspection(call, statistics);
  const AttentionOutputs& outputs = call.outputs;
  const auto run = [&](const Selection& selection, auto part) {
    for_each_block(pool, call, selection, scratch,
                   [&](const Rows& rows, std::int64_t n, Block& block) { (inspection.*part)(rows, n, block); });
  };
  if (outputs.probs) run(outputs.probs_selection, &Inspection::probs);
  if (outputs.top_k_values) run(outputs.top_k_selection, &Inspection::top_k);
  if (outputs.scores) run(outputs.scores_selection, &Inspection::scores);
  if (outputs.entropy) run(Selection{}, &Inspection::entropy);
}

}  // namespace headwise
