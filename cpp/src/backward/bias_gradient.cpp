#include <algorithm>

#include "backward/score_gradients.h"
#include "backward/sweeps.h"
#include "base/memory.h"
#include "base/rules.h"

namespace headwise {

namespace {

/// What reads some cells of a bias: batches, heads, query rows and key rows. An axis along which the bias repeats is
/// there whole.
struct Cells {
  KeyRange batches, heads, queries, keys;
};

/// The bias cut into tasks.
class BiasCells {
 public:
  BiasCells(const GradientCall& call, const GradientTiles& tiles)
      : extents_(call.inputs.forward.bias_extents.extent), call_(call.forward) {
    pieces_[0] = piece(0, 1), pieces_[1] = piece(1, 1);
    pieces_[2] = piece(2, tiles.rows), pieces_[3] = piece(3, tiles.keys);
  }
  [[nodiscard]] std::int64_t tasks() const {
    std::int64_t tasks = 1;
    for (const Piece& each : pieces_) tasks *= each.count;
    return tasks;
  }
  [[nodiscard]] Cells of(std::int64_t task) const {
    KeyRange spans[4];
    for (int axis = 3; axis >= 0; --axis) {
      const Piece& cut = pieces_[axis];
      const std::int64_t begin = task % cut.count * cut.size;
      spans[axis] = {begin, std::min(begin + cut.size, full(axis))};
      task /= cut.count;
    }
    return {spans[0], spans[1], spans[2], spans[3]};
  }
  [[nodiscard]] bool repeats(int axis) const { return extents_[axis] == 1 && full(axis) != 1; }

 private:
  struct Piece {
    std::int64_t size, count;
  };
  [[nodiscard]] std::int64_t full(int axis) const {
    const std::int64_t all[] = {call_.shape.batch_size, call_.shape.num_heads, call_.shape.query_length,
                                call_.key_length};
    return all[axis];
  }
  [[nodiscard]] Piece piece(int axis, std::int64_t size) const {
    return repeats(axis) ? Piece{full(axis), 1} : Piece{size, divide_up(full(axis), size)};
  }

  const std::int64_t* extents_;
  const Call& call_;
  Piece pieces_[4];
};

/// One task: adds up the gradients of the scores that read its cells. Sums run in double.
class BiasSweep final : public RowObserver {
 public:
  BiasSweep(const GradientCall& call, GradientScratch& scratch, const BiasCells& bias, const Cells& cells, double* sums)
      : call_(call),
        scratch_(scratch),
        bias_(bias),
        cells_(cells),
        sums_(sums),
        gradients_(call, scratch, *this, false) {}

  void run();
  void at_bias(const GradientRow& row) override;

 private:
  void meet(const Sequence& sequence, std::int64_t first_head, std::int64_t heads);
  void store() const;
  [[nodiscard]] std::int64_t columns() const { return bias_.repeats(3) ? 1 : cells_.keys.size(); }
  [[nodiscard]] std::int64_t rows() const { return bias_.repeats(2) ? 1 : cells_.queries.size(); }

  const GradientCall& call_;
  GradientScratch& scratch_;
  const BiasCells& bias_;
  const Cells& cells_;
  double* const sums_;  ///< [rows(), columns()]
  ScoreGradients gradients_;
  const Sequence* sequence_ = nullptr;
};

void BiasSweep::run() {
  const Call& call = call_.forward;
  std::fill_n(sums_, rows() * columns(), 0.0);
  const bool all_heads = cells_.heads.size() == call.shape.num_heads;
  const std::int64_t heads = all_heads ? call.group_size : 1;
  for (std::int64_t n = 0; n < call.num_sequences; ++n) {
    const Sequence& sequence = call.sequences[n];
    if (sequence.batch < cells_.batches.begin || sequence.batch >= cells_.batches.end) continue;
    for (std::int64_t head = cells_.heads.begin; head < cells_.heads.end; head += heads) meet(sequence, head, heads);
  }
  store();
}

/// Meets the cells with some heads of one group of a sequence.
void BiasSweep::meet(const Sequence& sequence, std::int64_t first_head, std::int64_t heads) {
  sequence_ = &sequence;
  const KeyRange own_queries{sequence.query_begin, sequence.query_begin + sequence.num_queries};
  const KeyRange own_keys{sequence.key_begin, sequence.key_begin + sequence.num_keys};
  const KeyRange queries = common(cells_.queries, own_queries), keys = common(cells_.keys, own_keys);
  const Rows rows{
      &sequence, first_head / call_.forward.group_size,          first_head,
      heads,     heads * (queries.begin - sequence.query_begin), heads * (queries.end - sequence.query_begin)};
  for (std::int64_t j = keys.begin; j < keys.end; j += scratch_.tiles.keys) {
    const KeyRange tile{j - sequence.key_begin, std::min(j + scratch_.tiles.keys, keys.end) - sequence.key_begin};
    gradients_.meet(rows, tile, [](const Strip&) {});
  }
}

void BiasSweep::at_bias(const GradientRow& row) {
  const std::int64_t r = bias_.repeats(2) ? 0 : sequence_->query_begin + row.row.i - cells_.queries.begin;
  double* const sums = sums_ + r * columns();
  if (bias_.repeats(3)) {
    for (std::int64_t j = 0; j < row.keys.size(); ++j) *sums += row.gradients[j];
  } else {
    double* const at = sums + sequence_->key_begin + row.keys.begin - cells_.keys.begin;
    for (std::int64_t j = 0; j < row.keys.size(); ++j) at[j] += row.gradients[j];
  }
}

void BiasSweep::store() const {
  const BroadcastExtents& extents = call_.inputs.forward.bias_extents;
  for (std::int64_t r = 0; r < rows(); ++r) {
    float* const out =
        call_.outputs.bias + (bias_.repeats(3) ? 0 : cells_.keys.begin) +
        broadcast_row(extents, cells_.batches.begin, cells_.heads.begin, cells_.queries.begin + r) * extents.extent[3];
    for (std::int64_t j = 0; j < columns(); ++j) out[j] = static_cast<float>(sums_[r * columns() + j] + 0.0);
  }
}

}  // namespace

Error BiasGradient::allocate() {
  const GradientTiles& tiles = scratches_.tiles();
  std::int64_t count;
  if (!multiply_sizes(pool_.size(), tiles.rows * tiles.keys, &count)) return refuse(Rule::scratch_size);
  return sums_.allocate(count);
}

void BiasGradient::run() {
  const GradientTiles& tiles = scratches_.tiles();
  const BiasCells bias(call_, tiles);
  pool_.parallel_for(bias.tasks(), [&](std::int64_t task, int worker) {
    GradientScratch scratch = scratches_.of(call_, worker);
    const Cells cells = bias.of(task);
    BiasSweep(call_, scratch, bias, cells, sums_.data() + worker * tiles.rows * tiles.keys).run();
  });
}

}  // namespace headwise
