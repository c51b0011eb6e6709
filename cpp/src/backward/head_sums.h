#pragma once

#include "backward/gradient_call.h"

namespace headwise {

/// What a row adds to the gradients that heads have one number of.
struct RowSums {
  double reached = 0;    ///< sum_j p_ij do_i . v_j
  double distances = 0;  ///< sum_j ds_ij |i + offset - pi_j|
  bool sees = false;     ///< whether the row sees a key

  void add(const RowSums& other) {
    reached += other.reached;
    distances += other.distances;
    sees |= other.sees;
  }
};

/// Gradients with one number for each head.
struct HeadSums {
  double gain = 0, sink = 0, slope = 0;

  void add(const HeadSums& other) {
    gain += other.gain;
    sink += other.sink;
    slope += other.slope;
  }
  /// Adds the share of a row.
  void add_row(const GradientCall& call, std::int64_t head, std::int64_t row_index, const RowSums& row);
};

/// Whether a call wants any of them.
[[nodiscard]] bool wants_head_sums(const BackwardOutputs& outputs);

/// Writes the gradients: for each head the sum over sequences, in order. `sums` is [num_sequences, num_heads].
void store_head_sums(const GradientCall& call, const HeadSums* sums);

}  // namespace headwise
