#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "layer_model.h"

/// The layer in double: the oracle for its tests. Every number carries a bound on the error of float32.
namespace headwise::layers {

/// A number, and how far float32 may be from it.
struct Bounded {
  double value = 0, error = 0;
};

using Row = std::vector<Bounded>;

struct ReferenceToken {
  double position = 0;
  Row row;  ///< of X or of a context
};

/// One sequence: its queries, keys and values. Query i does not see key j if hidden(i, j).
struct ReferenceSequence {
  std::vector<ReferenceToken> queries, keys, values;
  std::function<bool(std::int64_t i, std::int64_t j)> hidden = [](std::int64_t, std::int64_t) { return false; };
  double sequence_length = 0;  ///< for dynamic ntk
};

/// Numbers without error.
[[nodiscard]] Row exact_row(const float* x, std::int64_t width, std::int64_t stride = 1);

/// A token of X with its row of the position table added, if the model has a table.
[[nodiscard]] Row placed(Row row, const Model& m, double position);

/// The rows of Y, one for each query.
[[nodiscard]] std::vector<Row> reference(const Model& m, const Weights& w, const ReferenceSequence& sequence);

/// Tokens [from, to) of batch b of X [B, S, I]. The first of them stands at position `first`.
[[nodiscard]] std::vector<ReferenceToken> tokens_of(const Model& m, const Call& call, std::int64_t b, std::int64_t from,
                                                    std::int64_t to, double first);

/// Self-attention of batch b.
[[nodiscard]] ReferenceSequence self_sequence(const Model& m, const Call& call, std::int64_t b, bool causal);

}  // namespace headwise::layers
