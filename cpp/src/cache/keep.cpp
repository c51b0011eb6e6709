#include <cstdint>
#include <cstring>

#include "base/memory.h"
#include "base/rules.h"
#include "headwise/kv_cache.h"
#include "headwise/thread_pool.h"
#include "position/rotary.h"
#include "source/kv_cache_store.h"

namespace headwise {

namespace {

/// What stays of one batch: its first `from` tokens, and `count` of the later ones.
struct Branch {
  std::int64_t from = 0, count = 0;
  const std::int32_t* rows = nullptr;

  [[nodiscard]] std::int64_t end() const { return from + count; }
  /// By how many positions row i moves towards the start. It never falls with i, because rows ascend.
  [[nodiscard]] std::int64_t shift(std::int64_t i) const { return rows[i] - i; }
  /// Rows before this one stay where they are.
  [[nodiscard]] std::int64_t first_moved() const {
    std::int64_t i = 0;
    while (i < count && shift(i) == 0) ++i;
    return i;
  }
  /// If no token stays before the first row, the angles of the batch begin later, and that row keeps its angle.
  [[nodiscard]] std::int64_t origin_shift() const { return from == 0 && count > 0 ? shift(0) : 0; }
  /// Whether a row gets another angle. Shifts never fall, so the last one tells.
  [[nodiscard]] bool turns() const { return count > 0 && shift(count - 1) != origin_shift(); }
};

Error check_branch(const KvCache::Store& store, std::int64_t b, const Branch& branch) {
  const std::int64_t held = store.appended[b];
  if (branch.from < 0 || branch.from > held || branch.count < 0)
    return refuse(Rule::keep_from, at(b), held, branch.from);
  if (Error e = check_given({{Argument::rows, branch.count > 0, branch.rows}})) return e;
  for (std::int64_t i = 0; i < branch.count; ++i) {
    const std::int64_t least = i > 0 ? branch.rows[i - 1] + std::int64_t{1} : 0;
    if (branch.rows[i] < least || branch.rows[i] >= held - branch.from)
      return refuse(Rule::keep_rows, at(b), held - branch.from - 1, branch.rows[i], i);
  }
  if (branch.end() < held && store.dropped(b) > 0) return refuse(Rule::keep_dropped, at(b));
  if (branch.turns() && store.turns_moved_keys() && store.shape.rotary->scaling == RotaryScaling::tables)
    return refuse(Rule::keep_tables);
  return {};
}

/// Moves rows of one head of a batch to lower positions, in ascending order: no row is overwritten before it has moved.
/// The batch still counts its old tokens, and the blocks that are written must be reserved.
class RowMover {
 public:
  /// `scratch` has room for a key and a row of angles.
  RowMover(KvCache::Store& store, std::int64_t b, std::int64_t g, const RotaryAngles& angles, float* scratch)
      : store_(store), b_(b), g_(g), angles_(angles), key_(scratch), turning_(scratch + store.shape.head_dim) {}

  /// Turns the key by `turn` positions too.
  void move(std::int64_t from, std::int64_t to, std::int64_t turn) {
    copy(store_.layout.value, from, to);
    if (turn == 0)
      copy(store_.layout.key, from, to);
    else
      copy_turned(from, to, turn);
  }

 private:
  struct Row {
    std::uint8_t* data;
    float* scales;  ///< int8
  };

  Row row(const BlockSide& side, std::int64_t j) {
    const RowSpan span = store_.span(b_, j, 1);
    std::uint8_t* const data = store_.block(b_, span.block)->data();
    return {data + store_.row_offset(side, g_, span.row),
            reinterpret_cast<float*>(data + store_.scale_offset(side, g_, span.row))};
  }

  void copy(const BlockSide& side, std::int64_t from, std::int64_t to) {
    const Row source = row(side, from), target = row(side, to);
    std::memcpy(target.data, source.data, static_cast<std::size_t>(side.row_bytes));
    std::memcpy(target.scales, source.scales, static_cast<std::size_t>(side.scale_bytes()));
  }

  void copy_turned(std::int64_t from, std::int64_t to, std::int64_t turn) {
    if (turn != turned_) angles_.write(static_cast<double>(turn), turning_);
    turned_ = turn;
    const Row source = row(store_.layout.key, from), target = row(store_.layout.key, to);
    const KvCacheShape& shape = store_.shape;
    const float* const mean = store_.key_mean(b_, g_);
    load_row(source.data, source.scales, shape.head_dim, shape.dtype, key_);
    add_mean(mean, shape.head_dim, key_);
    turn_head(angles_, turning_, key_);
    subtract_mean(mean, shape.head_dim, key_);
    store_row(key_, shape.head_dim, shape.dtype, target.data, target.scales);
  }

  KvCache::Store& store_;
  std::int64_t b_, g_;
  const RotaryAngles& angles_;
  float *key_, *turning_;
  std::int64_t turned_ = 0;  ///< what turning_ turns by; 0 if nothing is there
};

void move_rows(const Branch& branch, bool turns, RowMover mover) {
  for (std::int64_t i = branch.first_moved(); i < branch.count; ++i)
    mover.move(branch.from + branch.rows[i], branch.from + i, turns ? branch.origin_shift() - branch.shift(i) : 0);
}

/// Angles that turn a key from one position to another. They do not multiply it: its amplitude is that of its first
/// turn.
Error create_turning(const KvCacheShape& shape, RotaryAngles* angles) {
  if (!shape.rotary || shape.rotary->scaling == RotaryScaling::tables) return {};
  RotaryOptions options = *shape.rotary;
  options.attention_factor = 1.0;
  return angles->create(options, shape.head_dim);
}

Error reserve_moved(KvCache::Store& store, const Buffer<Branch>& branches) {
  for (std::int64_t b = 0; b < branches.size(); ++b)
    if (Error e = store.reserve(b, branches[b].from + branches[b].first_moved(), branches[b].end())) return e;
  return {};
}

}  // namespace

Status KvCache::keep(ThreadPool& pool, const KeptTokens& tokens) {
  Store& store = *store_;
  const KvCacheShape& shape = store.shape;
  const bool has_batches = shape.batch_size > 0;
  if (Error e =
          check_given({{Argument::from, has_batches, tokens.from}, {Argument::counts, has_batches, tokens.counts}}))
    return e;
  Buffer<Branch> branches;
  if (Error e = branches.allocate(shape.batch_size)) return e;
  const std::int32_t* rows = tokens.rows;
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    branches[b] = {tokens.from[b], tokens.counts[b], rows};
    if (Error e = check_branch(store, b, branches[b])) return e;
    if (tokens.counts[b] > 0) rows += tokens.counts[b];
  }
  RotaryAngles angles;
  if (Error e = create_turning(shape, &angles)) return e;
  const std::int64_t scratch_size = shape.head_dim + 2 * angles.half();
  Buffer<float> scratch;  // for each worker
  if (Error e = scratch.allocate(scratch_size * pool.size())) return e;
  if (Error e = reserve_moved(store, branches)) return e;

  pool.parallel_for(shape.batch_size * shape.num_kv_heads, [&](std::int64_t task, int worker) {
    const std::int64_t b = task / shape.num_kv_heads, g = task % shape.num_kv_heads;
    move_rows(branches[b], store.turns_moved_keys(),
              RowMover(store, b, g, angles, scratch.data() + worker * scratch_size));
  });
  for (std::int64_t b = 0; b < shape.batch_size; ++b) {
    store.appended[b] = branches[b].end();
    if (shape.rotary) store.rotary_origin[b] += branches[b].origin_shift();
  }
  store.trim_all();
  return {};
}

}  // namespace headwise
