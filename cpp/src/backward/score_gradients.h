#pragma once

#include <cstdint>

#include "backward/gradient_call.h"
#include "base/memory.h"
#include "base/rules.h"
#include "headwise/thread_pool.h"

namespace headwise {

/// deltas[b, h, i] = do_i . o_i - dlse_i for every row. The sums run in double: gradients of scores are small
/// differences.
[[nodiscard]] Error compute_deltas(ThreadPool& pool, const Call& forward, const BackwardInputs& inputs,
                                   Buffer<float>* deltas);

/// Logarithms of the sums of exponentials, [B, num_heads, Sq], and what float32 lost of them.
struct PreciseLse {
  Buffer<float> lse, rest;

  /// Takes those of the forward call, unless some are so far from 0 that the weights would not sum to 1: then the
  /// forward pass runs again without its output.
  [[nodiscard]] Error find(ThreadPool& pool, const AttentionShape& shape, const BackwardInputs& inputs,
                           const AttentionOptions& options);
};

/// The gradients of a row's scores against some keys of a tile, on their way from the softmax back to the products.
struct GradientRow {
  const QueryRow& row;   ///< row.r counts from the first of the rows at hand
  KeyRange keys;         ///< of the sequence
  const float* weights;  ///< 0 where hidden
  float* gradients;
};

/// Takes the gradients of rows at the stages of scores.
class RowObserver {
 public:
  virtual ~RowObserver() = default;
  /// After the softmax: with respect to the score formula's result. `values`: of its derivative.
  virtual void at_formula(const GradientRow& /*row*/, const FormulaTile& /*values*/) {}
  /// With respect to the score after bias and ALiBi.
  virtual void at_bias(const GradientRow& /*row*/) {}
  /// At the end. `reached` is the sum of p_ij do_i . v_j, `sees` whether the row sees a key of the tile.
  virtual void finish_row(const QueryRow& /*row*/, float /*reached*/, bool /*sees*/) {}
};

/// Computes weights and gradients of scores for a tile of scores at a time: some rows, and some keys.
class ScoreGradients {
 public:
  /// @param packs  whether the caller multiplies with gradients: keys and rows are packed for it, one after the other
  ScoreGradients(const GradientCall& call, GradientScratch& scratch, RowObserver& observer, bool packs)
      : call_(call), scratch_(scratch), observer_(observer), packs_(packs) {}

  /// Meets a tile of keys with rows, as many at a time as a tile has. Calls visit(strip) for strips of those rows that
  /// see keys, whose weights and gradients are then in the scratch.
  template <class Visit>
  void meet(const Rows& rows, KeyRange tile, Visit visit) {
    bool loaded = false;
    for (std::int64_t r = 0; r < rows.size(); r += scratch_.tiles.rows) {
      if (!choose(rows.part(r, r + scratch_.tiles.rows), tile)) continue;
      if (!loaded) load_keys();
      loaded = true;
      load_rows();
      scratch_.tile.panels.for_each_strip(scratch_.tiles.rows, [&](const Strip& strip) {
        compute(strip);
        visit(strip);
      });
    }
  }

  /// The rows at hand. `QueryRow::r` counts from their first.
  [[nodiscard]] const Rows& rows() const { return rows_; }

 private:
  bool choose(const Rows& rows, KeyRange keys);
  void load_keys();
  void pack_keys();
  void load_rows();
  void pack_rows();
  void compute(const Strip& strip);
  void weigh_row(const Strip& strip, std::int64_t r);
  bool bring_to_last_stage(std::int64_t r, const RowReach& at, float* scores);
  void differentiate(const GradientRow& row);

  const GradientCall& call_;
  GradientScratch& scratch_;
  RowObserver& observer_;
  const bool packs_;
  Rows rows_{};
};

}  // namespace headwise
